// QpTable: owns the QPs of an engine and finds them by number. A QPN is a slot index plus a random
// tag, both drawn at random from the engine's range; the slot of a destroyed QP rests for a while,
// so that packets still under way to it cannot reach a new one. Thread: the engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/engine_place.h"
#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "qp/qp.h"

namespace roce {

class QpTable {
 public:
  /// `max_qps`: at least 1, at most a sixteenth of the QPNs that are the engine's.
  QpTable(uint32_t max_qps, EnginePlace place, RandomSource random);

  /// ENOMEM when `max_qps` exist.
  Result<Qp*> create(const QpSpec& spec, Instant now);
  void destroy(Qp& qp, Instant now);

  /// The QP with this number, or nullptr.
  Qp* find(uint32_t qpn) const {
    Qp* const qp = slots_[qpn & index_mask_];
    return qp != nullptr && qp->qpn() == qpn ? qp : nullptr;
  }
  /// The QP that this number may belong to, or nullptr; touches no QP. prefetch_slot() asks for
  /// what it reads.
  const Qp* guess(uint32_t qpn) const { return slots_[qpn & index_mask_]; }
  void prefetch_slot(uint32_t qpn) const { __builtin_prefetch(&slots_[qpn & index_mask_]); }
  /// The QP with this dense id, or nullptr.
  Qp* by_id(uint32_t id) const { return qps_[id].get(); }

  uint32_t size() const { return size_; }

  /// Calls visit(Qp&) for each QP.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& qp : qps_) {
      if (qp != nullptr) {
        visit(*qp);
      }
    }
  }

 private:
  struct Resting {
    uint32_t slot = 0;
    Instant until;
  };

  uint32_t draw_qpn();
  void wake_slots(Instant now);

  uint32_t max_qps_;
  EnginePlace place_;
  uint32_t index_mask_;
  uint32_t size_ = 0;
  std::vector<Qp*> slots_;
  std::vector<bool> resting_;             // by slot
  std::deque<Resting> rest_queue_;        // oldest first
  std::vector<std::unique_ptr<Qp>> qps_;  // by id
  std::vector<uint32_t> free_ids_;
  RandomSource random_;
};

}  // namespace roce
