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

/// The attributes of a move, IBV_QP_STATE apart.
struct Masks {
  int required;
  int optional;
};

/// A row of the table; nothing where a type has no such move.
struct TableRow {
  const char* rule = nullptr;
  ibv_qp_state from = IBV_QPS_RESET;
  ibv_qp_state to = IBV_QPS_RESET;
  std::optional<Masks> rc;
  std::optional<Masks> uc;
  std::optional<Masks> ud;
};

namespace table {

inline constexpr int kInit = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
inline constexpr int kInitUd = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
inline constexpr int kPath = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS;
inline constexpr int kRtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
inline constexpr int kRtrRc = kRtr | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
inline constexpr int kRts = IBV_QP_SQ_PSN;
inline constexpr int kRepeats = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
inline constexpr int kRtsRc = kRts | kRepeats | IBV_QP_MAX_QP_RD_ATOMIC;
inline constexpr int kRunning = IBV_QP_CUR_STATE | kPath | IBV_QP_PATH_MIG_STATE;
inline constexpr int kRunningRc = kRunning | IBV_QP_MIN_RNR_TIMER;
inline constexpr int kRunningUd = IBV_QP_CUR_STATE | IBV_QP_QKEY;
inline constexpr int kDrained =
    IBV_QP_PORT | IBV_QP_AV | kPath | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE;
inline constexpr int kDrainedRc = kDrained | kRepeats | IBV_QP_MAX_QP_RD_ATOMIC |
                                  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
inline constexpr int kKeys = IBV_QP_PKEY_INDEX | IBV_QP_QKEY;

inline constexpr TableRow kRows[] = {
    {"T1", IBV_QPS_RESET, IBV_QPS_INIT, Masks{kInit, 0}, Masks{kInit, 0}, Masks{kInitUd, 0}},
    {"T2", IBV_QPS_INIT, IBV_QPS_INIT, Masks{0, kInit}, Masks{0, kInit}, Masks{0, kInitUd}},
    {"T3", IBV_QPS_INIT, IBV_QPS_RTR, Masks{kRtrRc, kPath | IBV_QP_PKEY_INDEX},
     Masks{kRtr, kPath | IBV_QP_PKEY_INDEX}, Masks{0, kKeys}},
    {"T4", IBV_QPS_RTR, IBV_QPS_RTS, Masks{kRtsRc, kRunningRc}, Masks{kRts, kRunning},
     Masks{kRts, kRunningUd}},
    {"T5", IBV_QPS_RTS, IBV_QPS_RTS, Masks{0, kRunningRc}, Masks{0, kRunning},
     Masks{0, kRunningUd}},
    {"T6", IBV_QPS_RTS, IBV_QPS_SQD, Masks{0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
     Masks{0, IBV_QP_EN_SQD_ASYNC_NOTIFY}, Masks{0, IBV_QP_EN_SQD_ASYNC_NOTIFY}},
    {"T7", IBV_QPS_SQD, IBV_QPS_SQD, Masks{0, kDrainedRc}, Masks{0, kDrained}, Masks{0, kKeys}},
    {"T8", IBV_QPS_SQD, IBV_QPS_RTS, Masks{0, kRunningRc}, Masks{0, kRunning},
     Masks{0, kRunningUd}},
    {"T9", IBV_QPS_SQE, IBV_QPS_RTS, std::nullopt, Masks{0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
     Masks{0, kRunningUd}},
};

}  // namespace table

/// The rule of a move and its attributes; nothing when there is no such move.
inline std::optional<Move> specified_move(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) {
  if (to == IBV_QPS_RESET) {
    return Move{"T10", 0, 0};
  }
  if (to == IBV_QPS_ERR && from != IBV_QPS_RESET) {
    return Move{"T11", 0, 0};
  }
  for (const TableRow& row : table::kRows) {
    if (row.from == from && row.to == to) {
      const auto& masks = type == IBV_QPT_RC ? row.rc : type == IBV_QPT_UC ? row.uc : row.ud;
      return masks ? std::optional(Move{row.rule, masks->required, masks->optional}) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace roce::script
