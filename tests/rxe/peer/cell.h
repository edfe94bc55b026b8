// Cell: one field of the interoperability matrix, as data and as the words that both ends and the
// reports know it by. A value; pure functions.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <infiniband/verbs.h>

#include "base/result.h"

namespace uroce::rxe {

enum class Transport : uint8_t { rc, uc, ud };

enum class Op : uint8_t { send, send_imm, send_inv, write, write_imm, read, fetch_add, cmp_swap };

/// What is done with the operation.
enum class Kind : uint8_t {
  sizes,      ///< one message of each size, each checked before the next
  burst,      ///< many messages posted at once
  wrap,       ///< sizes, with PSNs that wrap inside the first ones
  rnr,        ///< the receive is posted late
  rnr_limit,  ///< the receive is never posted, and the requester gives up
  bad_key,    ///< an rkey that was never handed out
  bad_range,  ///< past the end of the memory region
  mr_right,   ///< the memory region does not permit it
  qp_right,   ///< the queue pair does not permit it
  too_long,   ///< longer than the receive posted for it
  gone,       ///< the responder's queue pair is destroyed before
  srq,        ///< sizes, received through a shared receive queue
  window,     ///< through a memory window, which is then revoked and tried again
  multicast,  ///< sizes, to a group that the responder has joined
  bad_qkey,   ///< a datagram with a wrong Q_Key, then one with the right one
};

/// Which end requests: uroce, or the end that runs over libibverbs.
enum class Requester : uint8_t { uroce, peer };

struct Cell {
  Transport transport = Transport::rc;
  Op op = Op::send;
  Kind kind = Kind::sizes;
  uint32_t mtu = 1024;  ///< path MTU in bytes
  uint32_t family = 4;  ///< of the addresses: 4 or 6
  Requester requester = Requester::uroce;

  friend bool operator==(const Cell&, const Cell&) = default;
};

/// "rc write_imm sizes 1024 ipv4 uroce".
std::string text_of(const Cell& cell);

/// The reverse; EPROTO for anything else.
roce::Result<Cell> parse_cell(std::string_view text);

/// The whole matrix, in the order in which it runs.
std::vector<Cell> all_cells();

/// Of `cells` those whose text matches `pattern`, a regular expression that is searched for. EINVAL
/// when it is none.
roce::Result<std::vector<Cell>> matching(std::vector<Cell> cells, const std::string& pattern);

bool is_atomic(Op op);
/// True when the operation takes a receive of the responder's.
bool takes_receive(Op op);
bool has_immediate(Op op);
ibv_wr_opcode opcode_of(Op op);

/// Message sizes of kind sizes: around nothing, around the path MTU, and one of many packets.
std::vector<uint32_t> sizes_of(const Cell& cell);
/// Message sizes of kind burst.
std::vector<uint32_t> burst_of(const Cell& cell);

}  // namespace uroce::rxe
