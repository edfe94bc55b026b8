// The transport's numbers are those of <infiniband/verbs.h>, so that values pass without
// translation; those that are none of theirs can at least be read.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>

#include <infiniband/verbs.h>

#include "cq/cqe.h"
#include "memory/region.h"
#include "memory/sge.h"
#include "qp/state.h"
#include "qp/wqe.h"

namespace roce::verbs {

/// The number in a field that a caller has filled, perhaps with none of its enumerators: to read
/// such a one as the enumeration it is would be undefined.
template <class Enum>
uint32_t value_of(const Enum& field) {
  uint32_t value;
  static_assert(sizeof value == sizeof field);
  std::memcpy(&value, &field, sizeof value);
  return value;
}

template <class Ours, class Theirs>
constexpr bool same(Ours a, Theirs b) {
  return static_cast<int>(a) == static_cast<int>(b);
}

static_assert(same(CompletionStatus::local_length_error, IBV_WC_LOC_LEN_ERR));
static_assert(same(CompletionStatus::local_protection_error, IBV_WC_LOC_PROT_ERR));
static_assert(same(CompletionStatus::flush_error, IBV_WC_WR_FLUSH_ERR));
static_assert(same(CompletionStatus::remote_access_error, IBV_WC_REM_ACCESS_ERR));
static_assert(same(CompletionStatus::rnr_retry_exceeded, IBV_WC_RNR_RETRY_EXC_ERR));
static_assert(same(CompletionOpcode::fetch_add, IBV_WC_FETCH_ADD));
static_assert(same(CompletionOpcode::local_invalidate, IBV_WC_LOCAL_INV));
static_assert(same(CompletionOpcode::receive, IBV_WC_RECV));
static_assert(same(CompletionOpcode::receive_rdma_with_imm, IBV_WC_RECV_RDMA_WITH_IMM));
static_assert(kCqeGrh == IBV_WC_GRH && kCqeWithImm == IBV_WC_WITH_IMM &&
              kCqeWithInvalidate == IBV_WC_WITH_INV);
static_assert(same(SendOpcode::rdma_write, IBV_WR_RDMA_WRITE));
static_assert(same(SendOpcode::send_imm, IBV_WR_SEND_WITH_IMM));
static_assert(same(SendOpcode::fetch_add, IBV_WR_ATOMIC_FETCH_AND_ADD));
static_assert(same(SendOpcode::send_invalidate, IBV_WR_SEND_WITH_INV));
static_assert(kSendFence == IBV_SEND_FENCE && kSendSignaled == IBV_SEND_SIGNALED &&
              kSendSolicited == IBV_SEND_SOLICITED && kSendInline == IBV_SEND_INLINE);
static_assert(same(QpState::rtr, IBV_QPS_RTR) && same(QpState::err, IBV_QPS_ERR));
static_assert(same(kAttrAv, IBV_QP_AV) && same(kAttrDestQpn, IBV_QP_DEST_QPN) &&
              same(kAttrRateLimit, IBV_QP_RATE_LIMIT) &&
              same(kAttrMaxDestRdAtomic, IBV_QP_MAX_DEST_RD_ATOMIC));
static_assert(same(Access::local_write, IBV_ACCESS_LOCAL_WRITE) &&
              same(Access::remote_atomic, IBV_ACCESS_REMOTE_ATOMIC) &&
              same(Access::zero_based, IBV_ACCESS_ZERO_BASED));
static_assert(sizeof(Sge) == sizeof(ibv_sge) && offsetof(Sge, lkey) == offsetof(ibv_sge, lkey));

}  // namespace roce::verbs
