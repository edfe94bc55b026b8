// Queue pairs.
// SPDX-License-Identifier: BSD-3-Clause
#include <functional>
#include <memory>

#include "objects.h"

namespace roce::ibv {
namespace {

constexpr uint32_t kMasks =
    IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

/// Both polling locks of a queue pair's completion queues, in an order that all agree on.
class CqLocks {
 public:
  explicit CqLocks(const ibv_qp& qp)
      : first_(&from<Cq>(std::min(qp.send_cq, qp.recv_cq, std::less<>{}))),
        second_(&from<Cq>(std::max(qp.send_cq, qp.recv_cq, std::less<>{}))) {
    first_->lock.lock();
    if (second_ != first_) {
      second_->lock.lock();
    }
  }
  ~CqLocks() {
    if (second_ != first_) {
      second_->lock.unlock();
    }
    first_->lock.unlock();
  }
  CqLocks(const CqLocks&) = delete;
  CqLocks& operator=(const CqLocks&) = delete;

 private:
  Cq* first_;
  Cq* second_;
};

ibv_qp_init_attr plain_attr(const ibv_qp_init_attr_ex& attr) {
  ibv_qp_init_attr plain{};
  plain.qp_context = attr.qp_context;
  plain.send_cq = attr.send_cq;
  plain.recv_cq = attr.recv_cq;
  plain.srq = attr.srq;
  plain.cap = attr.cap;
  plain.qp_type = attr.qp_type;
  plain.sq_sig_all = attr.sq_sig_all;
  return plain;
}

void count_users(ibv_qp& qp, int change) {
  from<Pd>(qp.pd).users += change;
  from<Cq>(qp.send_cq).users += change;
  from<Cq>(qp.recv_cq).users += change;
  if (qp.srq != nullptr) {
    from<Srq>(qp.srq).users += change;
  }
}

/// A queue pair; its capacities go back into `attr`.
std::unique_ptr<Qp> create(ibv_pd* pd, ibv_qp_init_attr& attr) {
  if (attr.send_cq == nullptr || attr.recv_cq == nullptr) {
    errno = EINVAL;
    return nullptr;
  }
  const verbs::Srq* const srq = attr.srq != nullptr ? &from<Srq>(attr.srq).native : nullptr;
  auto made = Process::get().verbs().create_qp(from<Pd>(pd).native, from<Cq>(attr.send_cq).native,
                                               from<Cq>(attr.recv_cq).native, attr, srq);
  if (!made) {
    errno = made.error().code;
    return nullptr;
  }
  auto qp = std::make_unique<Qp>();
  qp->native.emplace(std::move(*made));
  qp->signal_all = attr.sq_sig_all != 0;
  ibv_qp& plain = qp->plain();
  plain.context = pd->context;
  plain.qp_context = attr.qp_context;
  plain.pd = pd;
  plain.send_cq = attr.send_cq;
  plain.recv_cq = attr.recv_cq;
  plain.srq = attr.srq;
  plain.handle = plain.qp_num = qp->native->qpn();
  plain.state = IBV_QPS_RESET;
  plain.qp_type = attr.qp_type;
  pthread_mutex_init(&plain.mutex, nullptr);
  pthread_cond_init(&plain.cond, nullptr);
  attr.cap = qp->native->cap();
  count_users(plain, 1);
  Process::get().qps.add(plain.qp_num, &plain);
  return qp;
}

}  // namespace

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  Qp& ours = from<Qp>(qp);
  const std::lock_guard lock(ours.send_lock);
  return ours.native->post_send(wr, bad);
}

int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  Qp& ours = from<Qp>(qp);
  const std::lock_guard lock(ours.receive_lock);
  return ours.native->post_recv(wr, bad);
}

ibv_qp* create_qp_ex(ibv_context* /*context*/, ibv_qp_init_attr_ex* attr) {
  const bool has_flags = (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0;
  if ((attr->comp_mask & ~kMasks) != 0 || (has_flags && attr->create_flags != 0)) {
    return fail_with(EOPNOTSUPP);
  }
  if ((attr->comp_mask & IBV_QP_INIT_ATTR_PD) == 0) {
    return fail_with(EINVAL);
  }
  const bool builds = (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  ibv_qp_init_attr plain = plain_attr(*attr);
  Qp probe;
  if (builds && fill_builder(probe, attr->send_ops_flags) != 0) {
    return fail_with(EOPNOTSUPP);
  }
  std::unique_ptr<Qp> qp = create(attr->pd, plain);
  if (qp == nullptr) {
    return nullptr;
  }
  if (builds) {
    fill_builder(*qp, attr->send_ops_flags);
  }
  attr->cap = plain.cap;
  return &qp.release()->plain();
}

}  // namespace roce::ibv

using namespace roce::ibv;

UROCE_PUBLIC ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
  UROCE_PASS_ON(pd->context, ibv_create_qp, pd, attr);
  std::unique_ptr<Qp> qp = create(pd, *attr);
  return qp != nullptr ? &qp.release()->plain() : nullptr;
}

UROCE_PUBLIC ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  UROCE_PASS_ON(qp->context, ibv_qp_to_qp_ex, qp);
  Qp& ours = from<Qp>(qp);
  return ours.ibv.wr_start != nullptr ? &ours.ibv : nullptr;
}

UROCE_PUBLIC int ibv_destroy_qp(ibv_qp* qp) {
  UROCE_PASS_ON(qp->context, ibv_destroy_qp, qp);
  Qp& ours = from<Qp>(qp);
  if (ours.native->mcast_groups() != 0) {
    return EBUSY;
  }
  {
    const CqLocks locks(*qp);
    ours.native.reset();
  }
  Process::get().qps.remove(qp->qp_num);
  ours.async_events.wait_for_none();
  count_users(*qp, -1);
  delete &ours;
  return 0;
}

UROCE_PUBLIC int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask) {
  UROCE_PASS_ON(qp->context, ibv_modify_qp, qp, attr, attr_mask);
  Qp& ours = from<Qp>(qp);
  roce::Status done;
  ibv_qp_attr wanted = *attr;
  wanted.ah_attr = plain(attr->ah_attr);
  if ((attr_mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_RESET) {
    const CqLocks locks(*qp);  // completions of the queue pair go
    done = ours.native->modify(wanted, attr_mask);
  } else {
    done = ours.native->modify(wanted, attr_mask);
  }
  if (done && (attr_mask & IBV_QP_STATE) != 0) {
    qp->state = attr->qp_state;
  }
  return result_of(done);
}

UROCE_PUBLIC int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask,
                              ibv_qp_init_attr* init_attr) {
  UROCE_PASS_ON(qp->context, ibv_query_qp, qp, attr, attr_mask, init_attr);
  Qp& ours = from<Qp>(qp);
  *attr = ours.native->query();
  qp->state = attr->qp_state;
  *init_attr = {};
  init_attr->qp_context = qp->qp_context;
  init_attr->send_cq = qp->send_cq;
  init_attr->recv_cq = qp->recv_cq;
  init_attr->srq = qp->srq;
  init_attr->cap = ours.native->cap();
  init_attr->qp_type = qp->qp_type;
  init_attr->sq_sig_all = ours.signal_all ? 1 : 0;
  return 0;
}

UROCE_PUBLIC int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t lid) {
  UROCE_PASS_ON(qp->context, ibv_attach_mcast, qp, gid, lid);
  return result_of(from<Qp>(qp).native->attach_mcast(*gid));
}

UROCE_PUBLIC int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t lid) {
  UROCE_PASS_ON(qp->context, ibv_detach_mcast, qp, gid, lid);
  return result_of(from<Qp>(qp).native->detach_mcast(*gid));
}
