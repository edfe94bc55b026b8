// ActiveList: the QPs that have something to do in this poll, each at most once, first come first
// served. Cost depends on the QPs in it, never on those that exist. A ring of pointers rather than
// a chain through the QPs, so that those that come next can be fetched while one is served. Thread:
// the engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "qp/qp.h"

namespace roce {

class ActiveList {
 public:
  /// One QP that is listed.
  struct Entry {
    Qp* qp = nullptr;
    uint8_t work = 0;  ///< for what it was added first; a hint
  };

  /// Makes room for `n` QPs; the only place that allocates.
  void reserve(size_t n) {
    if (n <= ring_.size()) {
      return;
    }
    std::vector<Entry> larger(std::bit_ceil(n));
    const uint32_t count = size();
    for (uint32_t i = 0; i < count; ++i) {
      larger[i] = at(head_ + i);
      larger[i].qp->schedule.place = i;
    }
    ring_ = std::move(larger);
    head_ = 0;
    tail_ = count;
  }

  bool empty() const { return head_ == tail_; }
  uint32_t size() const { return tail_ - head_; }

  /// Appends the QP, for `work` (QpWork bits), unless it is in a list already, for whatever else.
  /// Requires room.
  void add(Qp& qp, uint8_t work) {
    qp.schedule.work |= work;
    if (qp.schedule.active) {
      return;
    }
    ROCE_DCHECK(size() < ring_.size());
    qp.schedule.active = true;
    put(tail_++, {&qp, qp.schedule.work});
  }

  /// Takes the first out; what it was in for stays in its schedule. Requires !empty().
  Qp& pop() {
    Qp& qp = *at(head_++).qp;
    qp.schedule.active = false;
    return qp;
  }

  /// The i-th after the first, or nullptr.
  const Entry* peek(uint32_t i) { return i < size() ? &at(head_ + i) : nullptr; }

  /// Takes `qp` out wherever it is, if it is in this list: the last takes its place.
  void remove(Qp& qp) {
    const uint32_t place = qp.schedule.place;
    if (!qp.schedule.active || place - head_ >= size() || at(place).qp != &qp) {
      return;
    }
    qp.schedule.active = false;
    const Entry last = at(--tail_);
    if (last.qp != &qp) {
      put(place, last);
    }
  }

 private:
  Entry& at(uint32_t index) { return ring_[index & (ring_.size() - 1)]; }
  void put(uint32_t index, const Entry& entry) {
    at(index) = entry;
    entry.qp->schedule.place = index;
  }

  std::vector<Entry> ring_;  // a power of two
  uint32_t head_ = 0;
  uint32_t tail_ = 0;
};

}  // namespace roce
