// QpFetcher: asks for the state of the QPs that a burst of received frames seems to be for, some
// frames before the turn of each. In three steps, as each leads to the next: its slot in the table,
// the QP, its WQEs. With few QPs all of that is in the cache anyway, and nothing is done. Thread:
// the engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/frame.h"
#include "base/limits.h"
#include "engine/qp_table.h"
#include "wire/opcode.h"
#include "wire/peek.h"

namespace roce {

class QpFetcher {
 public:
  explicit QpFetcher(const QpTable& qps) : qps_(qps) {}

  /// A burst of at most kRxBurst frames; its first one's turn is now.
  void start(std::span<const Frame> frames) {
    wanted_ = qps_.size() > kFewQps;
    if (!wanted_) {
      return;
    }
    last_ = nullptr;
    for (size_t i = 0; i < std::min(kSlotsAhead, frames.size()); ++i) {
      fetch_slot(frames, i);
    }
    for (size_t i = 0; i < std::min(kQpsAhead, frames.size()); ++i) {
      fetch_qp(i);
    }
  }

  /// The turn of the i-th frame of the burst has come.
  void advance(std::span<const Frame> frames, size_t i) {
    if (!wanted_) {
      return;
    }
    if (i + kSlotsAhead < frames.size()) {
      fetch_slot(frames, i + kSlotsAhead);
    }
    if (i + kQpsAhead < frames.size()) {
      fetch_qp(i + kQpsAhead);
    }
  }

 private:
  static constexpr uint32_t kFewQps = 64;
  static constexpr size_t kSlotsAhead = 5;
  static constexpr size_t kQpsAhead = 3;

  struct Hint {
    uint32_t qpn = 0;
    uint8_t work = 0;
  };

  void fetch_slot(std::span<const Frame> frames, size_t i) {
    const uint8_t* const bth = wire::peek_bth({frames[i].data, frames[i].len});
    hints_[i] = {};
    if (bth != nullptr) {
      hints_[i] = {load_be24(bth + wire::Bth::kDestQpAt),
                   work_of(wire::kOpcodes[bth[wire::Bth::kOpcodeAt]])};
      qps_.prefetch_slot(hints_[i].qpn);
    }
  }

  /// The QP that was asked for before has come meanwhile and says where its WQEs are.
  void fetch_qp(size_t i) {
    const Qp* const qp = qps_.guess(hints_[i].qpn);
    if (qp == last_) {
      return;
    }
    if (last_ != nullptr) {
      last_->prefetch_wqes(last_work_);
    }
    if (qp != nullptr) {
      qp->prefetch(hints_[i].work);
    }
    last_ = qp;
    last_work_ = hints_[i].work;
  }

  const QpTable& qps_;
  bool wanted_ = false;
  uint8_t last_work_ = 0;
  const Qp* last_ = nullptr;
  std::array<Hint, kRxBurst> hints_;
};

}  // namespace roce
