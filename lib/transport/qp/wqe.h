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
  flush = 14,
  atomic_write = 15,
};

inline constexpr size_t kSendOpcodes = 16;  ///< size of a table indexed by SendOpcode

/// Bits of SendWqe::flags; the values are those of enum ibv_send_flags.
inline constexpr uint8_t kSendFence = 1;
inline constexpr uint8_t kSendSignaled = 2;
inline constexpr uint8_t kSendSolicited = 4;
inline constexpr uint8_t kSendInline = 8;

/// Requests that the peer answers with a response of their own: they take one of its responder
/// resources, and max_rd_atomic bounds how many are in flight.
constexpr bool is_read_or_atomic(SendOpcode op) {
  return op == SendOpcode::rdma_read || op == SendOpcode::compare_swap ||
         op == SendOpcode::fetch_add || op == SendOpcode::flush || op == SendOpcode::atomic_write;
}

/// Requests that are executed here and never reach the peer: they take no PSN.
constexpr bool is_local(SendOpcode op) {
  return op == SendOpcode::local_invalidate || op == SendOpcode::bind_mw;
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
  bool executed = false;        ///< engine's: a local request has been carried out
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
  /// BIND_MW: the length of a window has 64 bits, so it takes the place of an operand; the single
  /// SGE names the region by its lkey and holds the window's rights as its length.
  WindowBinding binding() const {
    return {imm_or_rkey, rkey, sge.lkey, remote_addr, compare_or_add, Access{sge.length}};
  }
  void set_binding(const WindowBinding& b) {
    imm_or_rkey = b.window_key;
    rkey = b.new_key;
    remote_addr = b.va;
    compare_or_add = b.length;
    sge = {0, static_cast<uint32_t>(b.access), b.region_key};
  }
  /// UD: who it is for. The way there lies at the end of the slot (SendQueue::tail).
  uint32_t remote_qpn() const { return static_cast<uint32_t>(remote_addr); }
  uint32_t qkey() const { return rkey; }
  /// FLUSH: what is asked for, as it stands in the FETH.
  uint32_t flush_request() const { return imm_or_rkey; }
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
