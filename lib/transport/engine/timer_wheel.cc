// TimerWheel: where timers wait, and how they come down the levels.
// SPDX-License-Identifier: BSD-3-Clause
#include "engine/timer_wheel.h"

#include <algorithm>
#include <bit>

namespace roce {
namespace {

constexpr unsigned kTopShift = TimerWheel::kSlotShift * (TimerWheel::kLevels - 1);
constexpr uint64_t kSlotMask = TimerWheel::kSlots - 1;

constexpr uint64_t tick_of(Instant t) {
  return t.ns >> TimerWheel::kTickShift;
}

}  // namespace

TimerWheel::TimerWheel(uint32_t capacity, Instant origin)
    : capacity_(capacity), tick_(tick_of(origin)), now_(origin) {
  ROCE_CHECK(capacity <= kMaxCapacity);
  nodes_.resize(size_t{capacity} + kListCount, Node{kNever, 0, 0, kNoList});
  for (uint32_t list = 0; list < kListCount; ++list) {
    Node& head = nodes_[head_of(list)];
    head.next = head.prev = head_of(list);
  }
}

void TimerWheel::arm(uint32_t id, Instant deadline) {
  disarm(id);
  if (deadline == kNever) {
    return;
  }
  nodes_[id].deadline = deadline;
  append(id, deadline <= now_ ? kLateList : list_for(tick_of(deadline)));
  ++armed_;
  bound_ = std::min(bound_, deadline);
}

void TimerWheel::disarm(uint32_t id) {
  if (!armed(id)) {
    return;
  }
  remove(id);
  if (--armed_ == 0) {
    bound_ = kNever;
  }
}

void TimerWheel::append(uint32_t id, uint32_t list) {
  if (list >= kDueList) {
    const bool first = empty(kDueList) && empty(kLateList);
    due_bound_ = first ? nodes_[id].deadline : std::min(due_bound_, nodes_[id].deadline);
  } else {
    occupied_[list >> kSlotShift] |= uint64_t{1} << (list & kSlotMask);
  }
  const uint32_t head = head_of(list);
  const uint32_t last = nodes_[head].prev;
  nodes_[id].next = head;
  nodes_[id].prev = last;
  nodes_[id].list = list;
  nodes_[last].next = id;
  nodes_[head].prev = id;
}

void TimerWheel::remove(uint32_t id) {
  Node& node = nodes_[id];
  nodes_[node.prev].next = node.next;
  nodes_[node.next].prev = node.prev;
  if (node.list < kDueList && empty(node.list)) {
    occupied_[node.list >> kSlotShift] &= ~(uint64_t{1} << (node.list & kSlotMask));
  }
  node.list = kNoList;
}

// A slot of level n is chosen by the n-th group of six bits of the deadline's tick, where n is the
// highest group in which it differs from the current tick. So on each level below the top the
// occupied slots lie after the current one without wrapping round, and all of a level comes before
// all of the next.
uint32_t TimerWheel::list_for(uint64_t tick) const {
  ROCE_DCHECK(tick >= tick_);
  const uint64_t difference = tick ^ tick_;
  for (unsigned level = 0; level + 1 < kLevels; ++level) {
    const unsigned shift = level * kSlotShift;
    if (difference >> shift < kSlots) {
      return level * kSlots + static_cast<uint32_t>((tick >> shift) & kSlotMask);
    }
  }
  // The top level is a ring. What lies beyond it waits in its last slot and is placed again there.
  const uint64_t last = (tick_ >> kTopShift) + kSlots - 1;
  const uint64_t top = std::min(tick >> kTopShift, last);
  return (kLevels - 1) * kSlots + static_cast<uint32_t>(top & kSlotMask);
}

TimerWheel::Slot TimerWheel::first_slot() const {
  for (uint32_t level = 0; level + 1 < kLevels; ++level) {
    if (occupied_[level] != 0) {
      const unsigned shift = level * kSlotShift;
      const auto slot = static_cast<uint32_t>(std::countr_zero(occupied_[level]));
      const uint64_t group = tick_ >> shift & ~kSlotMask;
      return {level * kSlots + slot, (group | slot) << shift};
    }
  }
  if (occupied_[kLevels - 1] != 0) {
    const uint64_t after = (tick_ >> kTopShift) + 1;
    const int rotation = static_cast<int>(after & kSlotMask);
    const int ahead = std::countr_zero(std::rotr(occupied_[kLevels - 1], rotation));
    const uint64_t top = after + static_cast<uint64_t>(ahead);
    return {(kLevels - 1) * kSlots + static_cast<uint32_t>(top & kSlotMask), top << kTopShift};
  }
  return {};
}

/// Moves the current tick to that of `now_`, and all timers that are due to the list of such.
void TimerWheel::collect() {
  take_due(kLateList);
  const uint64_t target = tick_of(now_);
  for (Slot slot = first_slot(); slot.tick <= target; slot = first_slot()) {
    tick_ = slot.tick;
    if (slot.list >= kSlots) {
      cascade(slot.list);
      continue;
    }
    take_due(slot.list);
    if (slot.tick == target) {
      break;
    }
  }
  tick_ = std::max(tick_, target);
}

void TimerWheel::take_due(uint32_t list) {
  uint32_t next = 0;
  for (uint32_t id = nodes_[head_of(list)].next; id != head_of(list); id = next) {
    next = nodes_[id].next;
    if (nodes_[id].deadline <= now_) {
      remove(id);
      append(id, kDueList);
    }
  }
}

/// Places the slot's timers anew, now that time has come to its start. None returns to it.
void TimerWheel::cascade(uint32_t list) {
  const uint32_t head = head_of(list);
  while (nodes_[head].next != head) {
    const uint32_t id = nodes_[head].next;
    remove(id);
    append(id, list_for(tick_of(nodes_[id].deadline)));
  }
}

uint32_t TimerWheel::pop_due() {
  const uint32_t id = nodes_[head_of(kDueList)].next;
  disarm(id);
  return id;
}

Instant TimerWheel::lower_bound() const {
  if (!empty(kDueList) || !empty(kLateList)) {
    return due_bound_;
  }
  const Slot slot = first_slot();
  if (slot.tick == UINT64_MAX) {
    return kNever;
  }
  if (slot.tick > tick_) {
    return std::max(Instant{slot.tick << kTickShift}, now_ + Duration::from_ns(1));
  }
  Instant earliest = kNever;
  const uint32_t head = head_of(slot.list);
  for (uint32_t id = nodes_[head].next; id != head; id = nodes_[id].next) {
    earliest = std::min(earliest, nodes_[id].deadline);
  }
  return earliest;
}

}  // namespace roce
