// What this device does not have answers EOPNOTSUPP; no slot is ever a null pointer.
// SPDX-License-Identifier: BSD-3-Clause
#include "objects.h"

namespace roce::ibv {
namespace {

/// A slot of any type that fails.
template <class Slot>
struct Refuse;
template <class Result, class... Parameters>
struct Refuse<Result (*)(Parameters...)> {
  static Result call(Parameters... /*unused*/) {
    errno = EOPNOTSUPP;
    if constexpr (std::is_pointer_v<Result>) {
      return nullptr;
    } else if constexpr (!std::is_void_v<Result>) {
      return static_cast<Result>(EOPNOTSUPP);
    }
  }
};

template <class... Slots>
void refuse(Slots&... slots) {
  ((slots = Refuse<Slots>::call), ...);
}

}  // namespace

void fill_unsupported(verbs_context& v) {
  refuse(v.advise_mr, v.alloc_null_mr, v.read_counters, v.attach_counters_point_flow,
         v.create_counters, v.destroy_counters, v.reg_dm_mr, v.alloc_dm, v.free_dm,
         v.modify_flow_action_esp, v.destroy_flow_action, v.create_flow_action_esp,
         v.modify_qp_rate_limit, v.alloc_parent_domain, v.dealloc_td, v.alloc_td, v.modify_cq,
         v.post_srq_ops, v.destroy_rwq_ind_table, v.create_rwq_ind_table, v.destroy_wq, v.modify_wq,
         v.create_wq, v.ibv_destroy_flow, v.ibv_create_flow, v.open_qp, v.get_srq_num, v.open_xrcd,
         v.close_xrcd);
}

}  // namespace roce::ibv

using namespace roce::ibv;

UROCE_PUBLIC ibv_context* ibv_import_device(int cmd_fd) {
  return pass_on(&ibv_import_device, "ibv_import_device", cmd_fd);
}

UROCE_PUBLIC ibv_pd* ibv_import_pd(ibv_context* context, uint32_t handle) {
  UROCE_PASS_ON(context, ibv_import_pd, context, handle);
  return fail_with(EOPNOTSUPP);
}

UROCE_PUBLIC ibv_mr* ibv_import_mr(ibv_pd* pd, uint32_t handle) {
  UROCE_PASS_ON(pd->context, ibv_import_mr, pd, handle);
  return fail_with(EOPNOTSUPP);
}

UROCE_PUBLIC void ibv_unimport_mr(ibv_mr* mr) {
  if (!is_ours(mr->context)) {
    pass_on(&ibv_unimport_mr, "ibv_unimport_mr", mr);
  }
}

UROCE_PUBLIC ibv_dm* ibv_import_dm(ibv_context* context, uint32_t handle) {
  UROCE_PASS_ON(context, ibv_import_dm, context, handle);
  return fail_with(EOPNOTSUPP);
}

UROCE_PUBLIC void ibv_unimport_dm(ibv_dm* dm) {
  if (!is_ours(dm->context)) {
    pass_on(&ibv_unimport_dm, "ibv_unimport_dm", dm);
  }
}

UROCE_PUBLIC ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova,
                                       int fd, int access) {
  UROCE_PASS_ON(pd->context, ibv_reg_dmabuf_mr, pd, offset, length, iova, fd, access);
  return fail_with(EOPNOTSUPP);
}

UROCE_PUBLIC int ibv_set_ece(ibv_qp* qp, ibv_ece* ece) {
  UROCE_PASS_ON(qp->context, ibv_set_ece, qp, ece);
  errno = EOPNOTSUPP;
  return EOPNOTSUPP;
}

UROCE_PUBLIC int ibv_query_ece(ibv_qp* qp, ibv_ece* ece) {
  UROCE_PASS_ON(qp->context, ibv_query_ece, qp, ece);
  errno = EOPNOTSUPP;
  return EOPNOTSUPP;
}

/// Data is written in order of address, and the completion after it.
UROCE_PUBLIC int ibv_query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode op, uint32_t flags) {
  UROCE_PASS_ON(qp->context, ibv_query_qp_data_in_order, qp, op, flags);
  return 0;
}

UROCE_PUBLIC int ibv_resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attr,
                                             uint8_t mac[6], uint16_t* vid) {
  UROCE_PASS_ON(context, ibv_resolve_eth_l2_from_gid, context, attr, mac, vid);
  errno = EOPNOTSUPP;
  return EOPNOTSUPP;
}
