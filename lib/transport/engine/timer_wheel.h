// TimerWheel: one timer a dense id (an engine uses a QP's local index), armed and disarmed in
// constant time. Owned by one engine; passive: it never calls anybody outside advance().
//
// Six levels of 64 slots. A slot of level 0 spans one tick of 1024 ns, a slot of level n spans 64
// slots of level n-1; the whole reaches 19.5 hours. A timer waits in the slot, of the lowest level
// that tells its tick from the current one, and moves down when time reaches the slot's start. A
// bitmap a level says which slots are occupied, so spans without timers cost nothing. Within the
// current tick the exact deadlines are compared, hence timers fire neither early nor late.
//
// Thread: the owning engine's thread only.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace roce {

class TimerWheel {
 public:
  static constexpr unsigned kTickShift = 10;  ///< a tick is 2^10 = 1024 ns
  static constexpr unsigned kSlotShift = 6;
  static constexpr unsigned kLevels = 6;
  static constexpr uint32_t kSlots = 1U << kSlotShift;
  /// Largest number of ids.
  static constexpr uint32_t kMaxCapacity = 1U << 30;

  /// Timers 0..capacity-1 (capacity <= kMaxCapacity, checked), all disarmed; time starts at
  /// `origin`. The only place that allocates: 24 bytes a timer.
  TimerWheel(uint32_t capacity, Instant origin);

  /// Sets the timer to expire at `deadline`, whether it was armed or not. A deadline that has
  /// passed expires at the next advance(). kNever disarms. O(1).
  /// Requires id < capacity.
  void arm(uint32_t id, Instant deadline);

  /// Forgets the timer; nothing happens when it is not armed. O(1). Requires id < capacity.
  void disarm(uint32_t id);

  /// Requires id < capacity.
  bool armed(uint32_t id) const {
    ROCE_DCHECK(id < capacity_);
    return nodes_[id].list != kNoList;
  }

  /// When the timer expires; kNever when it is not armed. Requires id < capacity.
  Instant deadline(uint32_t id) const { return armed(id) ? nodes_[id].deadline : kNever; }

  /// Timers that are armed.
  uint32_t armed_count() const { return armed_; }

  /// Moves time to `now` and calls on_expired(uint32_t id) for each timer whose deadline is not
  /// later than `now`, but for no more than `limit`; the others follow at the next calls. Returns
  /// how many were called. The timer is disarmed before its call, in which any timer may be armed
  /// or disarmed, itself as well; one armed there for a time not later than `now` expires at the
  /// next advance(), and one disarmed there does not expire. The order is that of ticks, and
  /// arbitrary within a tick.
  /// Requires now >= the last call's, and that on_expired does not call advance().
  template <class F>
  size_t advance(Instant now, F&& on_expired, size_t limit) {
    ROCE_DCHECK(now >= now_);
    now_ = now;
    if (now < bound_) [[likely]] {
      return 0;
    }
    collect();
    size_t called = 0;
    for (; called < limit && !empty(kDueList); ++called) {
      on_expired(pop_due());
    }
    bound_ = lower_bound();
    return called;
  }

  /// A time not later than the earliest deadline, for whoever jumps in virtual time or sleeps:
  /// advancing to it again and again arrives at that deadline in at most kLevels + 1 steps (for a
  /// deadline out of reach of the wheel: that many more for each 19 hours). Later than the last
  /// advance() unless a timer is due. kNever when nothing is armed.
  Instant next_expiry() const { return bound_ > now_ ? bound_ : lower_bound(); }

 private:
  struct Node {
    Instant deadline;
    uint32_t next = 0;
    uint32_t prev = 0;
    uint32_t list = 0;  ///< which list it is in, kNoList when disarmed
  };

  /// The occupied slot that time reaches first.
  struct Slot {
    uint32_t list = 0;
    uint64_t tick = UINT64_MAX;  ///< its first tick; UINT64_MAX: no slot is occupied
  };

  // Lists are numbered level * kSlots + slot. Two more hold what is due: timers found by the
  // current advance(), and timers armed too late, which the next one takes over.
  static constexpr uint32_t kDueList = kLevels * kSlots;
  static constexpr uint32_t kLateList = kDueList + 1;
  static constexpr uint32_t kListCount = kLateList + 1;
  static constexpr uint32_t kNoList = UINT32_MAX;

  uint32_t head_of(uint32_t list) const { return capacity_ + list; }
  bool empty(uint32_t list) const { return nodes_[head_of(list)].next == head_of(list); }

  void append(uint32_t id, uint32_t list);
  void remove(uint32_t id);
  uint32_t list_for(uint64_t tick) const;
  Slot first_slot() const;
  void collect();
  void take_due(uint32_t list);
  void cascade(uint32_t list);
  uint32_t pop_due();
  Instant lower_bound() const;

  uint32_t capacity_;
  uint32_t armed_ = 0;
  uint64_t tick_;               ///< all slots before it are empty
  Instant now_;                 ///< of the last advance(); timers in slots expire after it
  Instant bound_ = kNever;      ///< no timer expires before it
  Instant due_bound_ = kNever;  ///< not later than any deadline in kDueList and kLateList
  std::array<uint64_t, kLevels> occupied_{};  ///< bit s: slot s of the level is not empty
  std::vector<Node> nodes_;                   ///< timers, then the heads of the lists, each a ring
};

}  // namespace roce
