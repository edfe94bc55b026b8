// Slots are four times as many as QPs, and at most half of the rest are resting, so a random draw
// succeeds after two tries on average.
// SPDX-License-Identifier: BSD-3-Clause
#include "engine/qp_table.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "base/limits.h"

namespace roce {
namespace {

constexpr Duration kRest = Duration::from_s(1);
constexpr uint32_t kFirstQpn = 16;  // 0 and 1 are special, and Soft-RoCE starts at 16 as well

}  // namespace

QpTable::QpTable(uint32_t max_qps, EnginePlace place, RandomSource random)
    : max_qps_(max_qps),
      place_(place),
      index_mask_(std::max(std::bit_ceil(max_qps * 4), 64u) - 1),
      slots_(size_t{index_mask_} + 1),
      resting_(size_t{index_mask_} + 1),
      random_(std::move(random)) {
  ROCE_CHECK(max_qps > 0 && max_qps <= place.size() / 16);
}

Result<Qp*> QpTable::create(const QpSpec& spec, Instant now) {
  if (size_ == max_qps_) {
    return failure(ENOMEM, "all " + std::to_string(max_qps_) +
                               " queue pairs are in use; destroy some or raise limits.max_qp");
  }
  wake_slots(now);
  uint32_t id = static_cast<uint32_t>(qps_.size());
  if (free_ids_.empty()) {
    qps_.emplace_back();
  } else {
    id = free_ids_.back();
    free_ids_.pop_back();
  }
  const uint32_t qpn = draw_qpn();
  qps_[id] = std::make_unique<Qp>(qpn, spec);
  Qp* const qp = qps_[id].get();
  qp->schedule.id = id;
  slots_[qpn & index_mask_] = qp;
  ++size_;
  return qp;
}

void QpTable::destroy(Qp& qp, Instant now) {
  const uint32_t slot = qp.qpn() & index_mask_;
  const uint32_t id = qp.schedule.id;
  ROCE_CHECK(slots_[slot] == &qp);
  slots_[slot] = nullptr;
  resting_[slot] = true;
  rest_queue_.push_back({slot, now + kRest});
  qps_[id].reset();
  free_ids_.push_back(id);
  --size_;
}

uint32_t QpTable::draw_qpn() {
  for (;;) {
    const uint64_t drawn = random_() & ((1u << kQpnBits) - 1);
    const uint32_t qpn = place_.first() + static_cast<uint32_t>(drawn * place_.size() >> kQpnBits);
    const uint32_t slot = qpn & index_mask_;
    if (qpn >= kFirstQpn && qpn != kMulticastQpn && slots_[slot] == nullptr && !resting_[slot]) {
      return qpn;
    }
  }
}

void QpTable::wake_slots(Instant now) {
  while (!rest_queue_.empty() &&
         (rest_queue_.front().until <= now || rest_queue_.size() > slots_.size() / 2)) {
    resting_[rest_queue_.front().slot] = false;
    rest_queue_.pop_front();
  }
}

}  // namespace roce
