// The interface of libibverbs 1.0, of 2006, with structs that nothing has used since. The names
// have to be there, beside the same ones of version 1.1; whoever calls them is told that there is
// nothing.
// SPDX-License-Identifier: BSD-3-Clause
#include "objects.h"

using namespace roce::ibv;
using Pointer = void*;

// Whatever the arguments are, nothing looks at them: the caller alone clears them away.
#define UROCE_OLD_NAME(name, version) __asm__(".symver uroce_old_" #name ", " #name "@" version)

#define UROCE_OLD_INT(name)             \
  UROCE_PUBLIC int uroce_old_##name() { \
    errno = EOPNOTSUPP;                 \
    return EOPNOTSUPP;                  \
  }                                     \
  UROCE_OLD_NAME(name, "IBVERBS_1.0")

#define UROCE_OLD_POINTER(name)             \
  UROCE_PUBLIC Pointer uroce_old_##name() { \
    return fail_with(EOPNOTSUPP);           \
  }                                         \
  UROCE_OLD_NAME(name, "IBVERBS_1.0")

UROCE_OLD_INT(ibv_attach_mcast);
UROCE_OLD_INT(ibv_close_device);
UROCE_OLD_INT(ibv_dealloc_pd);
UROCE_OLD_INT(ibv_dereg_mr);
UROCE_OLD_INT(ibv_destroy_ah);
UROCE_OLD_INT(ibv_destroy_cq);
UROCE_OLD_INT(ibv_destroy_qp);
UROCE_OLD_INT(ibv_destroy_srq);
UROCE_OLD_INT(ibv_detach_mcast);
UROCE_OLD_INT(ibv_get_async_event);
UROCE_OLD_INT(ibv_get_cq_event);
UROCE_OLD_INT(ibv_modify_qp);
UROCE_OLD_INT(ibv_modify_srq);
UROCE_OLD_INT(ibv_query_device);
UROCE_OLD_INT(ibv_query_gid);
UROCE_OLD_INT(ibv_query_pkey);
UROCE_OLD_INT(ibv_query_port);
UROCE_OLD_INT(ibv_query_qp);
UROCE_OLD_INT(ibv_query_srq);
UROCE_OLD_INT(ibv_resize_cq);

UROCE_OLD_POINTER(ibv_alloc_pd);
UROCE_OLD_POINTER(ibv_create_ah);
UROCE_OLD_POINTER(ibv_create_cq);
UROCE_OLD_POINTER(ibv_create_qp);
UROCE_OLD_POINTER(ibv_create_srq);
UROCE_OLD_POINTER(ibv_get_device_list);
UROCE_OLD_POINTER(ibv_get_device_name);
UROCE_OLD_POINTER(ibv_open_device);
UROCE_OLD_POINTER(ibv_reg_mr);

// Of these, nobody looks at a result.
UROCE_OLD_POINTER(ibv_ack_async_event);
UROCE_OLD_POINTER(ibv_ack_cq_events);
UROCE_OLD_POINTER(ibv_free_device_list);
UROCE_OLD_POINTER(ibv_get_device_guid);

/// How drivers made themselves known then.
UROCE_PUBLIC void uroce_old_ibv_register_driver() {}
UROCE_OLD_NAME(ibv_register_driver, "IBVERBS_1.1");
