// Step: the output side of one poll. The engine lends it blank frames; a QP's halves fill them,
// packet by packet. Nothing here knows a port.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/frame.h"
#include "base/psn.h"
#include "base/time.h"
#include "memory/region_table.h"
#include "qp/path.h"

namespace roce {

/// What distinguishes a packet from its neighbours of the same QP.
struct PacketSpec {
  uint8_t opcode = 0;
  bool solicited = false;
  bool ack_req = false;
  Psn psn;
  uint32_t payload_len = 0;  ///< bytes, pad not counted
};

/// Order of calls for a packet: open(), the extension headers into what it returns,
/// begin_payload(), append() until payload_len bytes are in, close(). A packet that is not closed
/// leaves its frame blank for the next one.
class Step {
 public:
  Step(Instant now, RegionTable& regions, std::span<Frame> blanks)
      : now_(now), regions_(regions), blanks_(blanks) {}

  Instant now() const { return now_; }
  /// Where keys are looked up; memory windows are bound and invalidated there.
  RegionTable& regions() const { return regions_; }

  /// No more packets can be built in this step.
  bool full() const { return used_ == limit_; }
  /// Frames filled so far, from the front of the blanks.
  size_t used() const { return used_; }
  /// Lets only `n` further packets be built until the next call.
  void allow(size_t n) { limit_ = used_ + n < blanks_.size() ? used_ + n : blanks_.size(); }

  /// No blank frame is left, whatever allow() said.
  bool exhausted() const { return used_ == blanks_.size(); }
  /// Hands those of the frames filled since the `first`-th that are for this node itself to
  /// take(const Frame&) and forgets them; returns how many. The blanks are fewer by them
  /// afterwards. Frames to a group stay, and are shown to copy(const Frame&).
  template <class Take, class Copy>
  size_t withdraw_local(size_t first, Take&& take, Copy&& copy) {
    if (destinations_ == 0) {
      return 0;
    }
    size_t kept = first;
    for (size_t i = first; i < used_; ++i) {
      const auto destination = static_cast<Destination>(destinations_ >> 2 * i & 3);
      if (destination == Destination::local) {
        take(blanks_[i]);
        continue;
      }
      if (destination == Destination::group) {
        copy(blanks_[i]);
      }
      blanks_[kept++] = blanks_[i];
    }
    const size_t n = used_ - kept;
    std::copy(blanks_.begin() + static_cast<ptrdiff_t>(used_), blanks_.end(),
              blanks_.begin() + static_cast<ptrdiff_t>(kept));
    blanks_ = blanks_.first(blanks_.size() - n);
    used_ = limit_ = kept;
    destinations_ = 0;
    return n;
  }

  /// Starts a packet; requires !full(). `path` is not used any more afterwards. Returns where its
  /// extension headers go.
  uint8_t* open(const Path& path, const PacketSpec& spec);
  /// The headers are complete.
  void begin_payload();
  /// Copies payload into the frame, in order.
  void append(const uint8_t* data, uint32_t len);
  /// Adds pad and ICRC: the frame is done.
  void close();

 private:
  Instant now_;
  using Destination = Path::Destination;

  RegionTable& regions_;
  std::span<Frame> blanks_;
  size_t used_ = 0;
  size_t limit_ = 0;
  uint64_t destinations_ = 0;  // two bits a frame: where it goes
  // The packet under construction.
  uint8_t* l3_ = nullptr;          // in header_
  uint8_t* header_end_ = nullptr;  // in header_
  uint8_t* at_ = nullptr;          // in the frame
  uint32_t crc_ = 0;
  uint32_t pad_ = 0;
  // Headers are put together here and copied into the frame once: the frame's lines come from
  // another core, and reading back what was just written there would wait for them.
  alignas(64) std::array<uint8_t, 128> header_;
};

}  // namespace roce
