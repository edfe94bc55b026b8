// Work queue elements as they lie in the rings between application and engine.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/psn.h"
#include "memory/sge.h"

namespace roce {

/// What a send WQE asks for; the values are those of enum ibv_wr_opcode.
enum class SendOpcode : uint8_t {
  rdma_write = 0,
  rdma_write_imm = 1,
  send = 2,
  send_imm = 3,
  rdma_read = 4,
  compare_swap = 5,
  fetch_add = 6,
  local_invalidate = 7,
  bind_mw = 8,
  send_invalidate = 9,
};

/// Bits of SendWqe::flags; the values are those of enum ibv_send_flags.
inline constexpr uint8_t kSendFence = 1;
inline constexpr uint8_t kSendSignaled = 2;
inline constexpr uint8_t kSendSolicited = 4;
inline constexpr uint8_t kSendInline = 8;

constexpr bool is_read_or_atomic(SendOpcode op) {
  return op == SendOpcode::rdma_read || op == SendOpcode::compare_swap ||
         op == SendOpcode::fetch_add;
}

/// One cache line holds everything of a WQE with one SGE; further SGEs, or inline data beyond 16
/// bytes, run on into the following lines of the slot.
struct alignas(64) SendWqe {
  uint64_t wr_id = 0;
  uint64_t remote_addr = 0;  ///< RDMA: address at the responder
  uint32_t length = 0;       ///< bytes of the message
  uint32_t imm_or_rkey = 0;  ///< immediate data (host order), or the key that SEND_INV invalidates
  uint32_t rkey = 0;         ///< RDMA: key of the responder's region
  Psn first_psn;             ///< engine's: given on admission
  uint32_t psn_count = 0;    ///< engine's: PSNs that the message takes, at least 1
  SendOpcode opcode = SendOpcode::rdma_write;
  uint8_t flags = 0;
  uint8_t sge_count = 0;
  uint8_t reserved = 0;
  uint64_t compare_or_add = 0;  ///< atomics: what to compare with, or to add
  Sge sge;                      ///< the first of `sge_count`; inline data starts here instead

  std::span<const Sge> sges() const { return {&sge, sge_count}; }
  uint8_t* inline_data() { return reinterpret_cast<uint8_t*>(&sge); }
  const uint8_t* inline_data() const { return reinterpret_cast<const uint8_t*>(&sge); }
  /// Atomics: their length is always 8 and they have no immediate, so the value to swap in lies
  /// there.
  uint64_t swap() const { return uint64_t{imm_or_rkey} << 32 | length; }
  void set_swap(uint64_t value) {
    length = static_cast<uint32_t>(value);
    imm_or_rkey = static_cast<uint32_t>(value >> 32);
  }
  bool is_inline() const { return (flags & kSendInline) != 0; }
  /// PSN after the message's last.
  Psn end_psn() const { return first_psn + psn_count; }
};

static_assert(sizeof(SendWqe) == 64 && offsetof(SendWqe, sge) == 48);

struct alignas(32) RecvWqe {
  uint64_t wr_id = 0;
  uint32_t sge_count = 0;
  uint32_t length = 0;  ///< bytes of room in all
  Sge sge;              ///< the first of `sge_count`

  std::span<const Sge> sges() const { return {&sge, sge_count}; }
};

static_assert(sizeof(RecvWqe) == 32 && offsetof(RecvWqe, sge) == 16);

}  // namespace roce
