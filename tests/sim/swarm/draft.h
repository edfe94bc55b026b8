// Draft: a send request being made, with its SGEs and what the model will know of it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <optional>

#include <roce/verbs.h>

#include "sim/swarm/parts.h"
#include "sim/swarm/world.h"

namespace roce::swarm {

struct World::Draft {
  SendRecord record;
  Bytes bytes;  ///< what the slot holds
  std::optional<Message> message;
  std::optional<size_t> group;  ///< that a datagram goes to, if it does not go to the peer
  ibv_send_wr wr{};
  std::array<ibv_sge, kMaxPieces> sges{};

  /// Describes the pieces to the library. Inline data is read at its true address.
  void finish(Host& host, size_t pd, uint64_t id) {
    record.id = wr.wr_id = id;
    wr.sg_list = sges.data();
    wr.num_sge = static_cast<int>(record.pieces.count);
    for (size_t i = 0; i < record.pieces.count; ++i) {
      const Range& piece = record.pieces.at[i];
      const bool inlined = (wr.send_flags & IBV_SEND_INLINE) != 0;
      sges[i] = {inlined ? reinterpret_cast<uint64_t>(host.memory->actual() + piece.begin)
                         : kLocalVa + piece.begin,
                 static_cast<uint32_t>(piece.size), host.local[pd].lkey()};
    }
  }

  verbs::FlushRequest flush_request() const {
    verbs::FlushRequest request;
    request.wr_id = wr.wr_id;
    request.remote_addr = wr.wr.rdma.remote_addr;
    request.rkey = wr.wr.rdma.rkey;
    request.send_flags = wr.send_flags;
    return request;
  }
};

constexpr ibv_wr_opcode opcode_of(Op op) {
  constexpr int kAtomicWrite = 15;  // IBV_WR_ATOMIC_WRITE, which rdma-core 44 lacks
  switch (op) {
    case Op::send:
      return IBV_WR_SEND;
    case Op::send_imm:
      return IBV_WR_SEND_WITH_IMM;
    case Op::send_inv:
      return IBV_WR_SEND_WITH_INV;
    case Op::write:
      return IBV_WR_RDMA_WRITE;
    case Op::write_imm:
      return IBV_WR_RDMA_WRITE_WITH_IMM;
    case Op::read:
      return IBV_WR_RDMA_READ;
    case Op::fetch_add:
      return IBV_WR_ATOMIC_FETCH_AND_ADD;
    case Op::swap:
      return IBV_WR_ATOMIC_CMP_AND_SWP;
    case Op::atomic_write:
      return static_cast<ibv_wr_opcode>(kAtomicWrite);
    case Op::bind:
      return IBV_WR_BIND_MW;
    case Op::invalidate:
      return IBV_WR_LOCAL_INV;
    case Op::flush:
      break;
  }
  return IBV_WR_SEND;
}

}  // namespace roce::swarm
