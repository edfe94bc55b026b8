// Receives in lists.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/run/receives.h"

#include <algorithm>

#include <fmt/format.h>

namespace uroce::app {
namespace {

constexpr uint32_t kLongestBatch = 32;

}  // namespace

Receives::Receives(Lane& lane, const Places& places, uint32_t depth)
    : lane_(lane),
      places_(places),
      batch_(std::clamp(depth / 4, 1U, kLongestBatch)),
      list_(depth),
      sges_(depth) {
  used_.reserve(depth);
  const uint64_t length = places.head + places.size;
  for (uint32_t i = 0; i < depth; ++i) {
    uint8_t* const at = places.first + i % places.count * places.stride;
    sges_[i] = {reinterpret_cast<uint64_t>(at), static_cast<uint32_t>(length), lane.lkey};
    list_[i] = {.wr_id = i, .next = nullptr, .sg_list = &sges_[i], .num_sge = length > 0 ? 1 : 0};
  }
}

bool Receives::post_all() {
  for (uint32_t i = 0; i < list_.size(); ++i) {
    used_.push_back(i);
  }
  return post_used();
}

bool Receives::post_used() {
  for (size_t i = 0; i < used_.size(); ++i) {
    list_[used_[i]].next = i + 1 < used_.size() ? &list_[used_[i + 1]] : nullptr;
  }
  ibv_recv_wr* bad = nullptr;
  ibv_recv_wr* const first = &list_[used_.front()];
  roce::verbs::Qp& qp = lane_.connection.qp();
  const int code =
      lane_.srq != nullptr ? lane_.srq->post_recv(first, &bad) : qp.post_recv(first, &bad);
  if (code != 0) {
    reason_ = fmt::format("posting receives: {}",
                          lane_.srq != nullptr ? lane_.srq->post_error() : qp.post_error());
    return false;
  }
  used_.clear();
  return true;
}

int Receives::overflowed() {
  reason_ = "the completion queue has overflowed";
  return -1;
}

int Receives::failed(const ibv_wc& wc) {
  reason_ = failure_text(wc, lane_.connection.qp());
  return -1;
}

}  // namespace uroce::app
