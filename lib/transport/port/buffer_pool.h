// BufferPool: equal buffers in one block, lent as blank frames and taken back in any order. The one
// given back last is lent next, since it is the likeliest to be in cache. Owned by the ports that
// live in memory only.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "base/check.h"
#include "base/frame.h"

namespace roce {

/// Thread: one. Allocates in the constructor only.
class BufferPool {
 public:
  /// `count` buffers, each with room for an Ethernet header, a VLAN tag and `mtu` bytes. Memory is
  /// touched only when a buffer is first used.
  BufferPool(uint32_t count, uint32_t mtu)
      : room_(kLinkHeaderRoom + mtu),
        // An odd number of cache lines, so that the headers spread over all sets of the cache.
        stride_((((room_ + kAlign - 1) / kAlign) | 1) * kAlign),
        count_(count),
        block_(static_cast<uint8_t*>(::operator new (stride_* count, std::align_val_t{kAlign}))),
        free_(std::make_unique<uint8_t*[]>(count)),
        free_count_(count) {
    for (size_t i = 0; i < count; i++) {
      free_[i] = block_.get() + (count - 1 - i) * stride_;
    }
  }

  /// Makes blank frames of up to frames.size() buffers; returns how many.
  size_t take(std::span<Frame> frames) {
    const size_t n = std::min(frames.size(), free_count_);
    for (size_t i = 0; i < n; i++) {
      uint8_t* const buffer = free_[--free_count_];
      frames[i] = Frame{.data = buffer, .cookie = buffer};
    }
    return n;
  }

  /// Takes back the buffer that frames of this cookie lie in.
  void give(void* cookie) {
    ROCE_DCHECK(owns(cookie) && free_count_ < count_);
    free_[free_count_++] = static_cast<uint8_t*>(cookie);
  }

  /// True for the cookies of this pool's frames.
  bool owns(const void* cookie) const {
    return static_cast<size_t>(static_cast<const uint8_t*>(cookie) - block_.get()) <
           stride_ * count_;
  }

  /// Appends the segments of `frame`, lent by take(), to its header part, so that it lies in one
  /// piece. The whole must fit the buffer (checked).
  void linearise(Frame& frame) const {
    const auto* const buffer = static_cast<const uint8_t*>(frame.cookie);
    size_t used = static_cast<size_t>(frame.data - buffer) + frame.len;
    for (const Segment& s : std::span(frame.segments, frame.segment_count)) {
      ROCE_CHECK(used + s.len <= room_);
      std::copy_n(s.data, s.len, frame.data + frame.len);
      frame.len += s.len;
      used += s.len;
    }
    frame.segment_count = 0;
    frame.segments = nullptr;
  }

  size_t available() const { return free_count_; }

 private:
  static constexpr size_t kAlign = 64;
  static constexpr size_t kLinkHeaderRoom = 14 + 4;

  struct BlockDelete {
    void operator()(uint8_t* p) const { ::operator delete (p, std::align_val_t{kAlign}); }
  };

  const size_t room_;
  const size_t stride_;
  const size_t count_;
  const std::unique_ptr<uint8_t, BlockDelete> block_;
  const std::unique_ptr<uint8_t*[]> free_;  ///< a stack of `free_count_` buffers
  size_t free_count_;
};

}  // namespace roce
