// Cqe: one completion, as the engine writes it. Half a cache line.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace roce {

/// Values of enum ibv_wc_status (spec/protocol-and-verbs.md 4.2).
enum class CompletionStatus : uint8_t {
  success = 0,
  local_length_error = 1,
  local_qp_operation_error = 2,
  local_protection_error = 4,
  flush_error = 5,
  memory_window_bind_error = 6,
  bad_response_error = 7,
  local_access_error = 8,
  remote_invalid_request = 9,
  remote_access_error = 10,
  remote_operation_error = 11,
  retry_exceeded = 12,
  rnr_retry_exceeded = 13,
};

/// Values of enum ibv_wc_opcode.
enum class CompletionOpcode : uint8_t {
  send = 0,
  rdma_write = 1,
  rdma_read = 2,
  compare_swap = 3,
  fetch_add = 4,
  bind_mw = 5,
  local_invalidate = 6,
  flush = 8,
  atomic_write = 9,
  receive = 128,
  receive_rdma_with_imm = 129,
};

/// Bits of Cqe::flags; the values are those of enum ibv_wc_flags.
inline constexpr uint8_t kCqeGrh = 1;
inline constexpr uint8_t kCqeWithImm = 2;
inline constexpr uint8_t kCqeWithInvalidate = 8;
/// Not one of theirs: the message asked for an event, which wakes a consumer that waits for
/// solicited completions only.
inline constexpr uint8_t kCqeSolicited = 0x80;

struct Cqe {
  uint64_t wr_id = 0;
  uint32_t byte_len = 0;
  uint32_t imm_or_rkey = 0;  ///< immediate data (host order) or the invalidated rkey, by `flags`
  uint32_t qpn = 0;
  uint32_t src_qp = 0;
  CompletionStatus status = CompletionStatus::success;
  CompletionOpcode opcode = CompletionOpcode::send;
  uint8_t flags = 0;
  uint8_t sl = 0;
  uint32_t vendor_error = 0;  ///< AETH syndrome that caused the error, or 0
};

static_assert(sizeof(Cqe) == 32);

}  // namespace roce
