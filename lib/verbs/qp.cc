// Queue pairs: creation, destruction, queries.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>
#include <utility>

#include <roce/verbs.h>

#include "address.h"
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
  if (attr.qp_type != IBV_QPT_RC && attr.qp_type != IBV_QPT_UC && attr.qp_type != IBV_QPT_UD) {
    return failure(EOPNOTSUPP, "QP type " + std::to_string(attr.qp_type) +
                                   " is not supported; use IBV_QPT_RC, IBV_QPT_UC or IBV_QPT_UD");
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

QpType to_transport(ibv_qp_type type) {
  return type == IBV_QPT_RC ? QpType::rc : type == IBV_QPT_UC ? QpType::uc : QpType::ud;
}

}  // namespace

Qp::Qp(std::unique_ptr<detail::QpState> state) : state_(std::move(state)), engine_qp_(state_->qp) {}
Qp::Qp(Qp&&) noexcept = default;
Qp& Qp::operator=(Qp&&) noexcept = default;
Qp::~Qp() = default;

Result<Qp> Device::create_qp(const Pd& pd, const Cq& send_cq, const Cq& recv_cq,
                             const ibv_qp_init_attr& attr, const Srq* srq) {
  if (const Status s = check(attr); !s) {
    return tl::make_unexpected(s.error());
  }
  QpSpec spec;
  spec.type = to_transport(attr.qp_type);
  spec.pd = pd.handle();
  spec.send_cq = &send_cq.state()->queue;
  spec.recv_cq = &recv_cq.state()->queue;
  spec.send_entries = std::max(attr.cap.max_send_wr, 1u);
  spec.shared_receives = srq != nullptr ? &srq->state()->queue : nullptr;
  spec.recv_entries = srq != nullptr ? 1 : std::max(attr.cap.max_recv_wr, 1u);
  spec.max_send_sge = std::max(attr.cap.max_send_sge, 1u);
  spec.max_recv_sge = srq != nullptr ? 1 : std::max(attr.cap.max_recv_sge, 1u);
  // The room for SGEs holds inline data just as well.
  spec.max_inline = std::max<uint32_t>(attr.cap.max_inline_data, spec.max_send_sge * sizeof(Sge));
  spec.signal_all = attr.sq_sig_all != 0;
  spec.window_packets = state_->config.window_packets;
  spec.line_rate = state_->config.dcqcn_line_rate;

  Result<roce::Qp*> created = nullptr;
  state_->driver.run([&] { created = state_->engine.create_qp(spec); });
  if (!created) {
    return tl::make_unexpected(created.error());
  }
  auto state = std::make_unique<detail::QpState>();
  state->pd = pd.state();
  state->send_cq = send_cq.state();
  state->recv_cq = recv_cq.state();
  state->srq = srq != nullptr ? srq->state() : nullptr;
  state->qp = *created;
  state_->events.add_qp((*created)->qpn(), {send_cq.handle(), recv_cq.handle()});
  state->type = attr.qp_type;
  state->signal_all = spec.signal_all;
  state->cap = {spec.send_entries, spec.recv_entries, spec.max_send_sge, spec.max_recv_sge,
                spec.max_inline};
  return Qp(std::move(state));
}

Status Qp::attach_mcast(const ibv_gid& group) {
  detail::QpState& qp = *state_;
  const Gid gid = to_gid(group);
  if (qp.type != IBV_QPT_UD) {
    return failure(
        EINVAL, "only UD queue pairs receive from multicast groups; make one of type IBV_QPT_UD");
  }
  if (!is_multicast(gid)) {
    return failure(EINVAL,
                   "the GID is not a multicast address; a group's starts with ff, or with 224..239 "
                   "behind ::ffff:");
  }
  Status attached;
  qp.device().driver.run([&] { attached = qp.engine().join_group(*qp.qp, gid); });
  if (!attached) {
    return attached;
  }
  if (std::find(qp.groups.begin(), qp.groups.end(), gid) == qp.groups.end()) {
    qp.groups.push_back(gid);
  }
  return {};
}

Status Qp::detach_mcast(const ibv_gid& group) {
  detail::QpState& qp = *state_;
  const Gid gid = to_gid(group);
  const auto at = std::find(qp.groups.begin(), qp.groups.end(), gid);
  if (at == qp.groups.end()) {
    return failure(EINVAL, "the queue pair is not attached to this multicast group");
  }
  qp.device().driver.run([&] { qp.engine().leave_group(*qp.qp, gid); });
  qp.groups.erase(at);
  return {};
}

size_t Qp::mcast_groups() const {
  return state_->groups.size();
}

namespace detail {

QpState::~QpState() {
  const uint32_t qpn = qp->qpn();
  device().driver.run([this] {
    for (const Gid& group : groups) {
      engine().leave_group(*qp, group);
    }
    engine().destroy_qp(*qp);
  });
  device().events.remove_qp(qpn);
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
  attr.sq_draining = attr.qp_state == IBV_QPS_SQD && !state_->qp->drained() ? 1 : 0;
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

SendFailure Qp::send_failure() const {
  SendFailure failure;
  state_->device().driver.run([&] { failure = state_->qp->core().failure; });
  return failure;
}

}  // namespace roce::verbs
