// SharedReceiveQueue: receive WQEs for many QPs of one engine. Slots travel in a circle: the poster
// takes a free one, fills it and shows it to the engine; a QP takes the oldest, holds it while its
// message arrives, and gives it back. QPs finish in any order, hence the two rings of slots. Slots
// stay where they are; a larger queue gets further ones.
//
// Thread: reserve(), commit(), publish() and posted() the poster's; everything else the engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/limits.h"
#include "qp/wqe.h"
#include "ring/spsc_ring.h"

namespace roce {

class SharedReceiveQueue {
 public:
  /// Room for `entries` WQEs (1..kMaxSrqWr) of up to `max_sge` SGEs (1..kMaxSge) each. `id` names
  /// the queue in events.
  SharedReceiveQueue(uint32_t id, uint32_t entries, uint32_t max_sge)
      : id_(id),
        stride_((sizeof(RecvWqe) + (max_sge - 1) * sizeof(Sge) + alignof(RecvWqe) - 1) /
                alignof(RecvWqe) * alignof(RecvWqe)) {
    grow_to(entries);
    entries_ = entries;
  }
  SharedReceiveQueue(const SharedReceiveQueue&) = delete;
  SharedReceiveQueue& operator=(const SharedReceiveQueue&) = delete;

  uint32_t id() const { return id_; }
  uint32_t capacity() const { return entries_; }

  /// A free slot to fill, or nullptr when the queue is full.
  RecvWqe* reserve() {
    if (posted() >= entries_) {
      return nullptr;
    }
    return free_->front(reserved_);
  }
  /// Counts the reserved slot as posted.
  void commit() {
    ready_->push(free_->front(reserved_));
    ++reserved_;
  }
  /// Shows what was committed to the engine.
  void publish() {
    free_->pop(reserved_);
    reserved_ = 0;
    ready_->publish();
  }
  /// WQEs that are posted or held by QPs.
  uint32_t posted() {
    return slot_count_ - (static_cast<uint32_t>(free_->available(slot_count_)) - reserved_);
  }
  /// Changes the capacity; false when more WQEs than that are posted. Neither the poster nor the
  /// engine may use the queue meanwhile.
  bool resize(uint32_t entries) {
    if (posted() > entries) {
      return false;
    }
    grow_to(entries);
    entries_ = entries;
    return true;
  }

  /// The oldest WQE, which the caller holds until give_back(); nullptr when there is none.
  RecvWqe* take() {
    if (ready_->available() == 0) {
      return nullptr;
    }
    RecvWqe* const taken = ready_->front();
    ready_->pop();
    if (limit_ != 0 && ready_->available(limit_) < limit_) {
      limit_ = 0;
      limit_reached_ = true;
    }
    return taken;
  }
  void give_back(RecvWqe* taken) {
    free_->push(taken);
    free_->publish();
  }

  /// Asks for one event as soon as fewer than `limit` WQEs are left; 0: none.
  void arm(uint32_t limit) { limit_ = limit; }
  /// 0 once the event has happened.
  uint32_t limit() const { return limit_; }
  /// True once after the limit has been passed.
  bool take_limit_event() {
    const bool reached = limit_reached_;
    limit_reached_ = false;
    return reached;
  }

 private:
  struct Free {
    void operator()(std::byte* p) const {
      ::operator delete[](p, std::align_val_t{alignof(RecvWqe)});
    }
  };

  using Ring = std::optional<SpscRing<RecvWqe*>>;

  void grow_to(uint32_t entries) {
    if (entries <= slot_count_) {
      return;
    }
    const uint32_t more = entries - slot_count_;
    std::byte* const block = new (std::align_val_t{alignof(RecvWqe)}) std::byte[more * stride_];
    blocks_.emplace_back(block);
    std::vector<RecvWqe*> fresh;
    for (uint32_t i = 0; i < more; ++i) {
      fresh.push_back(new (block + i * stride_) RecvWqe);
    }
    slot_count_ = entries;
    enlarge(free_, fresh);
    enlarge(ready_, {});
  }
  /// A ring for all slots with what the old one held, and `more` behind it.
  void enlarge(Ring& ring, std::span<RecvWqe* const> more) {
    std::vector<RecvWqe*> held;
    for (size_t i = 0, n = ring ? ring->available(ring->capacity()) : 0; i < n; ++i) {
      held.push_back(ring->front(i));
    }
    ring.emplace(slot_count_);
    ring->push(std::span<RecvWqe* const>(held));
    ring->push(more);
    ring->publish();
  }

  uint32_t id_;
  size_t stride_;  // bytes from slot to slot
  uint32_t entries_ = 0;
  uint32_t slot_count_ = 0;  // slots in circulation; at least entries_
  uint32_t reserved_ = 0;    // taken from free_ by the poster, not yet shown
  uint32_t limit_ = 0;
  bool limit_reached_ = false;
  std::vector<std::unique_ptr<std::byte[], Free>> blocks_;  // of slots
  Ring free_;                                               // engine -> poster
  Ring ready_;                                              // poster -> engine
};

}  // namespace roce
