// The private functions of libibverbs, of which rdma-core's drivers for hardware are made (libmlx5,
// libefa). Programs and libraries that are linked against such a driver start, for the names are
// here; but there is no hardware, so registering a driver leads to nothing and all else is refused.
// SPDX-License-Identifier: BSD-3-Clause
#include "objects.h"

using namespace roce::ibv;

// Whatever the arguments are, nothing looks at them: the caller alone clears them away.
#define UROCE_REFUSED(name) \
  UROCE_PUBLIC int name() { \
    errno = EOPNOTSUPP;     \
    return EOPNOTSUPP;      \
  }

UROCE_REFUSED(execute_ioctl)
UROCE_REFUSED(ibv_cmd_advise_mr)
UROCE_REFUSED(ibv_cmd_alloc_dm)
UROCE_REFUSED(ibv_cmd_alloc_mw)
UROCE_REFUSED(ibv_cmd_alloc_pd)
UROCE_REFUSED(ibv_cmd_attach_mcast)
UROCE_REFUSED(ibv_cmd_close_xrcd)
UROCE_REFUSED(ibv_cmd_create_ah)
UROCE_REFUSED(ibv_cmd_create_counters)
UROCE_REFUSED(ibv_cmd_create_cq)
UROCE_REFUSED(ibv_cmd_create_cq_ex)
UROCE_REFUSED(ibv_cmd_create_flow)
UROCE_REFUSED(ibv_cmd_create_flow_action_esp)
UROCE_REFUSED(ibv_cmd_create_qp)
UROCE_REFUSED(ibv_cmd_create_qp_ex2)
UROCE_REFUSED(ibv_cmd_create_qp_ex)
UROCE_REFUSED(ibv_cmd_create_rwq_ind_table)
UROCE_REFUSED(ibv_cmd_create_srq)
UROCE_REFUSED(ibv_cmd_create_srq_ex)
UROCE_REFUSED(ibv_cmd_create_wq)
UROCE_REFUSED(ibv_cmd_dealloc_mw)
UROCE_REFUSED(ibv_cmd_dealloc_pd)
UROCE_REFUSED(ibv_cmd_dereg_mr)
UROCE_REFUSED(ibv_cmd_destroy_ah)
UROCE_REFUSED(ibv_cmd_destroy_counters)
UROCE_REFUSED(ibv_cmd_destroy_cq)
UROCE_REFUSED(ibv_cmd_destroy_flow)
UROCE_REFUSED(ibv_cmd_destroy_flow_action)
UROCE_REFUSED(ibv_cmd_destroy_qp)
UROCE_REFUSED(ibv_cmd_destroy_rwq_ind_table)
UROCE_REFUSED(ibv_cmd_destroy_srq)
UROCE_REFUSED(ibv_cmd_destroy_wq)
UROCE_REFUSED(ibv_cmd_detach_mcast)
UROCE_REFUSED(ibv_cmd_free_dm)
UROCE_REFUSED(ibv_cmd_get_context)
UROCE_REFUSED(ibv_cmd_modify_cq)
UROCE_REFUSED(ibv_cmd_modify_flow_action_esp)
UROCE_REFUSED(ibv_cmd_modify_qp)
UROCE_REFUSED(ibv_cmd_modify_qp_ex)
UROCE_REFUSED(ibv_cmd_modify_srq)
UROCE_REFUSED(ibv_cmd_modify_wq)
UROCE_REFUSED(ibv_cmd_open_qp)
UROCE_REFUSED(ibv_cmd_open_xrcd)
UROCE_REFUSED(ibv_cmd_poll_cq)
UROCE_REFUSED(ibv_cmd_post_recv)
UROCE_REFUSED(ibv_cmd_post_send)
UROCE_REFUSED(ibv_cmd_post_srq_recv)
UROCE_REFUSED(ibv_cmd_query_context)
UROCE_REFUSED(ibv_cmd_query_device_any)
UROCE_REFUSED(ibv_cmd_query_mr)
UROCE_REFUSED(ibv_cmd_query_port)
UROCE_REFUSED(ibv_cmd_query_qp)
UROCE_REFUSED(ibv_cmd_query_srq)
UROCE_REFUSED(ibv_cmd_read_counters)
UROCE_REFUSED(ibv_cmd_reg_dm_mr)
UROCE_REFUSED(ibv_cmd_reg_dmabuf_mr)
UROCE_REFUSED(ibv_cmd_reg_mr)
UROCE_REFUSED(ibv_cmd_req_notify_cq)
UROCE_REFUSED(ibv_cmd_rereg_mr)
UROCE_REFUSED(ibv_cmd_resize_cq)

UROCE_PUBLIC void* verbs_open_device() {
  return fail_with(EOPNOTSUPP);
}

UROCE_PUBLIC int ibv_read_ibdev_sysfs_file() {
  errno = ENOENT;
  return -1;
}

// Names that C++ keeps for itself.
UROCE_PUBLIC void* uroce_init_context() __asm__("_verbs_init_and_alloc_context");
UROCE_PUBLIC unsigned uroce_attribute_count() __asm__("__ioctl_final_num_attrs");
UROCE_PUBLIC void uroce_log() __asm__("__verbs_log");

void* uroce_init_context() {
  return fail_with(EOPNOTSUPP);
}

/// How many attributes a command has in the end: none, for none is ever sent.
unsigned uroce_attribute_count() {
  return 0;
}

void uroce_log() {}

UROCE_PUBLIC void verbs_init_cq() {}

UROCE_PUBLIC void verbs_register_driver_34() {}

UROCE_PUBLIC void verbs_set_ops() {}

UROCE_PUBLIC void verbs_uninit_context() {}

/// A setting that drivers read.
extern "C" __attribute__((visibility("default"))) bool verbs_allow_disassociate_destroy;
bool verbs_allow_disassociate_destroy = false;
