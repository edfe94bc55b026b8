// ActiveList: the QPs that have something to do in this poll, each at most once, first come first
// served. Cost depends on the QPs in it, never on those that exist.
// Thread: the engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "qp/qp.h"

namespace roce {

class ActiveList {
 public:
  bool empty() const { return head_ == nullptr; }

  /// Appends the QP unless it is in already.
  void add(Qp& qp) {
    if (qp.schedule.active) {
      return;
    }
    qp.schedule.active = true;
    qp.schedule.next_active = nullptr;
    (tail_ != nullptr ? tail_->schedule.next_active : head_) = &qp;
    tail_ = &qp;
  }

  /// Takes the first out. Requires !empty().
  Qp& pop() {
    Qp& qp = *head_;
    head_ = qp.schedule.next_active;
    if (head_ == nullptr) {
      tail_ = nullptr;
    }
    qp.schedule.active = false;
    return qp;
  }

  /// Takes `qp` out wherever it is: it is about to be destroyed.
  void remove(const Qp& qp) {
    ActiveList rest;
    while (!empty()) {
      Qp& first = pop();
      if (&first != &qp) {
        rest.add(first);
      }
    }
    *this = rest;
  }

 private:
  Qp* head_ = nullptr;
  Qp* tail_ = nullptr;
};

}  // namespace roce
