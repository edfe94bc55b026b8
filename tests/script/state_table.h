// The queue pair state table as the specification gives it (protocol-and-verbs.md 2), written apart
// from the library's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include <infiniband/verbs.h>

namespace roce::script {

struct Move {
  const char* rule;
  int required;
  int optional;
};

/// The attributes of a move, IBV_QP_STATE apart; nothing when there is no such move.
inline std::optional<Move> specified_move(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) {
  const bool rc = type == IBV_QPT_RC;
  const bool ud = type == IBV_QPT_UD;
  constexpr int kPath = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS;
  const int init = IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
  const int running =
      ud ? IBV_QP_QKEY : kPath | IBV_QP_PATH_MIG_STATE | (rc ? int{IBV_QP_MIN_RNR_TIMER} : 0);
  if (to == IBV_QPS_RESET) {
    return Move{"T10", 0, 0};
  }
  if (to == IBV_QPS_ERR && from != IBV_QPS_RESET) {
    return Move{"T11", 0, 0};
  }
  if (from == IBV_QPS_RESET && to == IBV_QPS_INIT) {
    return Move{"T1", init, 0};
  }
  if (from == IBV_QPS_INIT && to == IBV_QPS_INIT) {
    return Move{"T2", 0, init};
  }
  if (from == IBV_QPS_INIT && to == IBV_QPS_RTR) {
    if (ud) {
      return Move{"T3", 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY};
    }
    return Move{"T3",
                IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                    (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0),
                kPath | IBV_QP_PKEY_INDEX};
  }
  if (from == IBV_QPS_RTR && to == IBV_QPS_RTS) {
    return Move{"T4",
                IBV_QP_SQ_PSN | (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                          IBV_QP_MAX_QP_RD_ATOMIC
                                    : 0),
                running | IBV_QP_CUR_STATE};
  }
  if (from == IBV_QPS_RTS && to == IBV_QPS_RTS) {
    return Move{"T5", 0, running | IBV_QP_CUR_STATE};
  }
  if (from == IBV_QPS_RTS && to == IBV_QPS_SQD) {
    return Move{"T6", 0, IBV_QP_EN_SQD_ASYNC_NOTIFY};
  }
  if (from == IBV_QPS_SQD && to == IBV_QPS_SQD) {
    if (ud) {
      return Move{"T7", 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY};
    }
    return Move{
        "T7", 0,
        IBV_QP_PORT | IBV_QP_AV | kPath | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE |
            (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
                      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER
                : 0)};
  }
  if (from == IBV_QPS_SQD && to == IBV_QPS_RTS) {
    return Move{"T8", 0, running | IBV_QP_CUR_STATE};
  }
  if (from == IBV_QPS_SQE && to == IBV_QPS_RTS && !rc) {
    return Move{"T9", 0, IBV_QP_CUR_STATE | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)};
  }
  return std::nullopt;
}

}  // namespace roce::script
