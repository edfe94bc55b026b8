// Doorbells: how threads that post tell the engine which QPs to look at. Any number of ringers, one
// engine; no locks: a ringer pushes its QP onto a list, the engine takes the whole list at once.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

#include "qp/qp.h"

namespace roce {

class Doorbells {
 public:
  /// Asks the engine to look at `qp`. What was posted before is visible to the engine when it does.
  /// Thread: any.
  void ring(Qp& qp) {
    // Release: the posted WQEs come before the bell. Acquire: pairs with the engine's clearing
    // below, so a bell found rung will still be answered after our post.
    if (qp.bell.rung.exchange(true, std::memory_order_acq_rel)) {
      return;
    }
    Qp* head = head_.load(std::memory_order_relaxed);
    do {
      qp.bell.next_rung = head;
    } while (!head_.compare_exchange_weak(head, &qp, std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  /// Calls visit(Qp&) for each QP rung since the last time. Thread: the engine's.
  template <class Visit>
  void take(Visit&& visit) {
    if (head_.load(std::memory_order_relaxed) == nullptr) [[likely]] {
      return;
    }
    Qp* qp = head_.exchange(nullptr, std::memory_order_acquire);
    while (qp != nullptr) {
      Qp* const next = qp->bell.next_rung;
      qp->bell.rung.exchange(false, std::memory_order_acq_rel);
      visit(*qp);
      qp = next;
    }
  }

 private:
  alignas(64) std::atomic<Qp*> head_{nullptr};
};

}  // namespace roce
