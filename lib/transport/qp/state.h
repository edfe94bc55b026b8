// The QP state machine as data: which transitions exist, and which attributes each requires and
// allows (spec/protocol-and-verbs.md 2). Values are those of enum ibv_qp_state and
// ibv_qp_attr_mask.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/result.h"
#include "wire/opcode.h"

namespace roce {

enum class QpState : uint8_t { reset, init, rtr, rts, sqd, sqe, err };

constexpr const char* name_of(QpState s) {
  constexpr const char* kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return kNames[static_cast<uint8_t>(s)];
}

/// Transport service of a QP; the wire prefix of its opcodes.
using QpType = wire::Transport;

constexpr const char* name_of(QpType t) {
  return t == QpType::rc ? "RC" : t == QpType::uc ? "UC" : "UD";
}

/// Bits that name the attributes of a modify call.
enum AttributeBit : uint32_t {
  kAttrState = 1u << 0,
  kAttrCurState = 1u << 1,
  kAttrSqdAsyncNotify = 1u << 2,
  kAttrAccessFlags = 1u << 3,
  kAttrPkeyIndex = 1u << 4,
  kAttrPort = 1u << 5,
  kAttrQkey = 1u << 6,
  kAttrAv = 1u << 7,
  kAttrPathMtu = 1u << 8,
  kAttrTimeout = 1u << 9,
  kAttrRetryCnt = 1u << 10,
  kAttrRnrRetry = 1u << 11,
  kAttrRqPsn = 1u << 12,
  kAttrMaxRdAtomic = 1u << 13,
  kAttrAltPath = 1u << 14,
  kAttrMinRnrTimer = 1u << 15,
  kAttrSqPsn = 1u << 16,
  kAttrMaxDestRdAtomic = 1u << 17,
  kAttrPathMigState = 1u << 18,
  kAttrCap = 1u << 19,
  kAttrDestQpn = 1u << 20,
  kAttrRateLimit = 1u << 25,
};

/// May a QP of `type` go `from` -> `to` with exactly the attributes in `mask`? If not, the Error
/// (EINVAL) says which transition does not exist, which attribute is missing, or which is not
/// allowed.
Status check_transition(QpType type, QpState from, QpState to, uint32_t mask);

constexpr bool can_receive_requests(QpState s) {
  return s == QpState::rtr || s == QpState::rts || s == QpState::sqd || s == QpState::sqe;
}
constexpr bool can_receive_responses(QpState s) {
  return s == QpState::rts || s == QpState::sqd;
}

}  // namespace roce
