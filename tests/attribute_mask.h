// The attributes that a queue pair has to be given, and no others, on its way from RESET to RTS
// (spec/protocol-and-verbs.md; the table under test is lib/transport/qp/state.cc's).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <infiniband/verbs.h>

namespace roce::test {

/// The mask for the move to `state` from the one before it; for other states, that of the state
/// alone.
constexpr int attribute_mask(ibv_qp_type type, ibv_qp_state state) {
  const bool rc = type == IBV_QPT_RC;
  const bool ud = type == IBV_QPT_UD;
  switch (state) {
    case IBV_QPS_INIT:
      return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
             (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
    case IBV_QPS_RTR:
      return IBV_QP_STATE |
             (ud ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN) |
             (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
    case IBV_QPS_RTS:
      return IBV_QP_STATE | IBV_QP_SQ_PSN |
             (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
                 : 0);
    default:
      return IBV_QP_STATE;
  }
}

}  // namespace roce::test
