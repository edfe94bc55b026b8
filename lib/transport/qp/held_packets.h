// Packets that arrived before an earlier one: a QP keeps them, in their frames, until the gap is
// closed, so that its peer has to send again only what was lost. Of a packet whose payload has been
// placed, only the rest is kept, without the frame. HoldingPool is the engine's and bounds how many
// packets all QPs keep; HeldPackets is the part of one queue pair, in PSN order.
//
// Buffers: the engine offers each received frame before it hands over its packet; a kept one is the
// pool's until it appears in returned(), and then the engine's again, to be released.
// Thread: the engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/frame.h"
#include "base/limits.h"
#include "base/psn.h"
#include "wire/packet.h"

namespace roce {

struct HeldPacket {
  wire::Packet packet;
  Frame frame;  ///< data is nullptr while the entry is free, or keeps no frame
  HeldPacket* next = nullptr;
};

class HoldingPool {
 public:
  /// Allocates; `count` may be 0: nothing is ever kept.
  explicit HoldingPool(size_t count) : entries_(count) {
    returned_.reserve(count);
    for (HeldPacket& entry : entries_) {
      entry.next = free_;
      free_ = &entry;
    }
  }
  HoldingPool(const HoldingPool&) = delete;
  HoldingPool& operator=(const HoldingPool&) = delete;

  /// The frame whose packet is handed over next.
  void offer(const Frame& frame) { offered_ = &frame; }
  /// Ends the offer; true when the frame was kept.
  bool end_offer() { return std::exchange(offered_, nullptr) == nullptr; }

  /// Keeps the offered frame, unless the packet's payload has been placed; nullptr when there is
  /// none (it has been kept already) or no room.
  HeldPacket* keep(const wire::Packet& packet, bool placed) {
    if (offered_ == nullptr || free_ == nullptr) {
      return nullptr;
    }
    HeldPacket* const entry = free_;
    free_ = entry->next;
    entry->packet = packet;
    if (placed) {
      entry->packet.payload = nullptr;
    } else {
      entry->frame = *std::exchange(offered_, nullptr);
    }
    return entry;
  }

  void give_back(HeldPacket& entry) {
    if (entry.frame.data != nullptr) {
      returned_.push_back(entry.frame);
      entry.frame = {};
    }
    entry.next = free_;
    free_ = &entry;
  }
  /// Counts packets that were kept in vain.
  void count_lost(size_t n) { lost_ += n; }

  bool has_returns() const { return lost_ > 0 || !returned_.empty(); }
  /// Frames to be released; then call clear_returned().
  std::span<Frame> returned() { return returned_; }
  void clear_returned() { returned_.clear(); }
  size_t take_lost() { return std::exchange(lost_, 0); }

  /// The frames of all entries in use, for the end of the engine.
  template <class Visit>
  void for_each_frame(Visit&& visit) {
    for (HeldPacket& entry : entries_) {
      if (entry.frame.data != nullptr) {
        visit(entry.frame);
      }
    }
  }

 private:
  std::vector<HeldPacket> entries_;
  std::vector<Frame> returned_;  // never beyond its first capacity
  HeldPacket* free_ = nullptr;
  const Frame* offered_ = nullptr;
  size_t lost_ = 0;
};

class HeldPackets {
 public:
  /// How far ahead of the expected packet one that is kept may be.
  static constexpr int32_t kReach = 4096;

  /// `pool` outlives the object; nullptr: nothing is kept.
  explicit HeldPackets(HoldingPool* pool) : pool_(pool) {}
  ~HeldPackets() { clear(); }
  HeldPackets(const HeldPackets&) = delete;
  HeldPackets& operator=(const HeldPackets&) = delete;

  enum class Kept : uint8_t { yes, twice, no };

  bool enabled() const { return pool_ != nullptr; }
  bool empty() const { return first_ == nullptr; }
  /// Require !empty().
  const wire::Packet& first() const { return first_->packet; }
  const wire::Packet& last() const { return last_->packet; }

  /// Keeps the packet that is being handed over, `distance` > 0 PSNs ahead of the expected one;
  /// `placed`: the caller places its payload if it is kept, so the frame need not wait.
  Kept keep(const wire::Packet& packet, int32_t distance, bool placed) {
    if (pool_ == nullptr || distance > kReach) {
      return Kept::no;
    }
    HeldPacket** at = &first_;
    if (last_ != nullptr && packet.psn.since(last_->packet.psn) > 0) {
      at = &last_->next;  // nearly always
    }
    while (*at != nullptr && packet.psn.since((*at)->packet.psn) > 0) {
      at = &(*at)->next;
    }
    if (*at != nullptr && (*at)->packet.psn == packet.psn) {
      return Kept::twice;
    }
    HeldPacket* const entry = count_ < kMaxHeld ? pool_->keep(packet, placed) : nullptr;
    if (entry == nullptr) {
      return Kept::no;
    }
    entry->next = *at;
    *at = entry;
    if (entry->next == nullptr) {
      last_ = entry;
    }
    ++count_;
    return Kept::yes;
  }

  /// Calls take(const wire::Packet&) for the first one, which ceases to be kept. Requires !empty().
  template <class Take>
  void pop(Take&& take) {
    HeldPacket& entry = *first_;
    first_ = entry.next;
    if (first_ == nullptr) {
      last_ = nullptr;
    }
    --count_;
    take(static_cast<const wire::Packet&>(entry.packet));
    pool_->give_back(entry);
  }

  /// Gives all up; they count as dropped.
  void clear() {
    while (!empty()) {
      pop([this](const wire::Packet&) { pool_->count_lost(1); });
    }
  }

 private:
  HoldingPool* pool_;
  HeldPacket* first_ = nullptr;
  HeldPacket* last_ = nullptr;
  uint32_t count_ = 0;
};

}  // namespace roce
