// Shared receive queues.
// SPDX-License-Identifier: BSD-3-Clause
#include "objects.h"

namespace roce::ibv {
namespace {

ibv_srq* create(ibv_pd* pd, void* srq_context, ibv_srq_attr& attr) {
  Pd& domain = from<Pd>(pd);
  auto made = Process::get().verbs().create_srq(domain.native, attr);
  if (!made) {
    return fail_with(made.error().code);
  }
  auto* const srq = new Srq(std::move(*made));
  srq->ibv.context = pd->context;
  srq->ibv.srq_context = srq_context;
  srq->ibv.pd = pd;
  srq->ibv.handle = srq->native.handle();
  pthread_mutex_init(&srq->ibv.mutex, nullptr);
  pthread_cond_init(&srq->ibv.cond, nullptr);
  ++domain.users;
  attr = srq->native.query();
  Process::get().srqs.add(srq->native.handle(), &srq->ibv);
  return &srq->ibv;
}

}  // namespace

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  Srq& ours = from<Srq>(srq);
  const std::lock_guard lock(ours.lock);
  return ours.native.post_recv(wr, bad);
}

ibv_srq* create_srq_ex(ibv_context* /*context*/, ibv_srq_init_attr_ex* attr) {
  constexpr uint32_t kMasks = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  const bool has_type = (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0;
  if ((attr->comp_mask & ~kMasks) != 0 || (has_type && attr->srq_type != IBV_SRQT_BASIC)) {
    return fail_with(EOPNOTSUPP);
  }
  if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0) {
    return fail_with(EINVAL);
  }
  return create(attr->pd, attr->srq_context, attr->attr);
}

}  // namespace roce::ibv

using namespace roce::ibv;

UROCE_PUBLIC ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attr) {
  UROCE_PASS_ON(pd->context, ibv_create_srq, pd, attr);
  return create(pd, attr->srq_context, attr->attr);
}

UROCE_PUBLIC int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int attr_mask) {
  UROCE_PASS_ON(srq->context, ibv_modify_srq, srq, attr, attr_mask);
  Srq& ours = from<Srq>(srq);
  const std::lock_guard lock(ours.lock);
  return result_of(ours.native.modify(*attr, attr_mask));
}

UROCE_PUBLIC int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attr) {
  UROCE_PASS_ON(srq->context, ibv_query_srq, srq, attr);
  *attr = from<Srq>(srq).native.query();
  return 0;
}

UROCE_PUBLIC int ibv_destroy_srq(ibv_srq* srq) {
  UROCE_PASS_ON(srq->context, ibv_destroy_srq, srq);
  Srq& ours = from<Srq>(srq);
  if (ours.users != 0) {
    return EBUSY;
  }
  Process::get().srqs.remove(ours.native.handle());
  ours.async_events.wait_for_none();
  --from<Pd>(srq->pd).users;
  delete &ours;
  return 0;
}
