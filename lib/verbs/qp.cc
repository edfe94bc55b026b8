// Queue pairs: creation, destruction, queries.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>
#include <utility>

#include <roce/verbs.h>

#include "base/limits.h"
#include "objects.h"

namespace roce::verbs {
namespace {

Status check_limit(const char* what, uint32_t asked, uint32_t limit) {
  if (asked > limit) {
    return failure(EINVAL, std::string(what) + " " + std::to_string(asked) +
                               " is above the limit " + std::to_string(limit));
  }
  return {};
}

Status check(const ibv_qp_init_attr& attr) {
  if (attr.qp_type != IBV_QPT_RC) {
    return failure(EOPNOTSUPP,
                   "QP type " + std::to_string(attr.qp_type) + " is not supported; use IBV_QPT_RC");
  }
  if (attr.srq != nullptr) {
    return failure(EOPNOTSUPP, "shared receive queues are not supported; leave srq empty");
  }
  const ibv_qp_cap& cap = attr.cap;
  for (const Status& s : {check_limit("max_send_wr", cap.max_send_wr, kMaxQpWr),
                          check_limit("max_recv_wr", cap.max_recv_wr, kMaxQpWr),
                          check_limit("max_send_sge", cap.max_send_sge, kMaxSge),
                          check_limit("max_recv_sge", cap.max_recv_sge, kMaxSge),
                          check_limit("max_inline_data", cap.max_inline_data, kMaxInline)}) {
    if (!s) {
      return s;
    }
  }
  return {};
}

}  // namespace

Qp::Qp(std::unique_ptr<detail::QpState> state) : state_(std::move(state)) {}
Qp::Qp(Qp&&) noexcept = default;
Qp& Qp::operator=(Qp&&) noexcept = default;
Qp::~Qp() = default;

Result<Qp> Device::create_qp(const Pd& pd, const Cq& send_cq, const Cq& recv_cq,
                             const ibv_qp_init_attr& attr) {
  if (const Status s = check(attr); !s) {
    return tl::make_unexpected(s.error());
  }
  QpSpec spec;
  spec.type = QpType::rc;
  spec.pd = pd.handle();
  spec.send_cq = &send_cq.state()->queue;
  spec.recv_cq = &recv_cq.state()->queue;
  spec.send_entries = std::max(attr.cap.max_send_wr, 1u);
  spec.recv_entries = std::max(attr.cap.max_recv_wr, 1u);
  spec.max_send_sge = std::max(attr.cap.max_send_sge, 1u);
  spec.max_recv_sge = std::max(attr.cap.max_recv_sge, 1u);
  // The room for SGEs holds inline data just as well.
  spec.max_inline = std::max<uint32_t>(attr.cap.max_inline_data, spec.max_send_sge * sizeof(Sge));
  spec.signal_all = attr.sq_sig_all != 0;
  spec.window_packets = state_->config.window_packets;

  Result<roce::Qp*> created = nullptr;
  state_->driver.run([&] { created = state_->engine.create_qp(spec); });
  if (!created) {
    return tl::make_unexpected(created.error());
  }
  auto state = std::make_unique<detail::QpState>();
  state->pd = pd.state();
  state->send_cq = send_cq.state();
  state->recv_cq = recv_cq.state();
  state->qp = *created;
  state->type = attr.qp_type;
  state->signal_all = spec.signal_all;
  state->cap = {spec.send_entries, spec.recv_entries, spec.max_send_sge, spec.max_recv_sge,
                spec.max_inline};
  return Qp(std::move(state));
}

namespace detail {

QpState::~QpState() {
  const uint32_t qpn = qp->qpn();
  device().driver.run([this] { engine().destroy_qp(*qp); });
  send_cq->queue.purge(qpn);
  recv_cq->queue.purge(qpn);
}

}  // namespace detail

uint32_t Qp::qpn() const {
  return state_->qp->qpn();
}

ibv_qp_attr Qp::query() const {
  ibv_qp_attr attr = state_->attr;
  attr.qp_state = attr.cur_qp_state = static_cast<ibv_qp_state>(state_->qp->state());
  attr.cap = state_->cap;
  return attr;
}

ibv_qp_cap Qp::cap() const {
  return state_->cap;
}

QpCounters Qp::counters() const {
  QpCounters counters;
  state_->device().driver.run([&] { counters = state_->qp->core().counters; });
  return counters;
}

}  // namespace roce::verbs
