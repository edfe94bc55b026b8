// The judge of the enumeration: says by the rules of docs/rules.md alone what one packet with a
// right ICRC gets from a queue pair in a given state. Knows nothing of the library but the names of
// the drop reasons.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include <infiniband/verbs.h>

#include "base/drop_reason.h"

namespace roce::enumeration {

inline constexpr uint32_t kPmtu = 256;
/// Bytes of a READ and of an atomic that the queue pair has in flight.
inline constexpr uint32_t kReadBytes = 8;

/// What the queue pair is in the middle of when the packet comes.
enum class Context : uint8_t {
  nothing,
  send_open,    ///< the peer's SEND FIRST has arrived
  write_open,   ///< the peer's WRITE FIRST has arrived
  ahead,        ///< the packet's PSN is one too high
  behind,       ///< the packet's PSN is that before the expected one
  send_sent,    ///< a SEND of one packet waits for its ACK
  read_sent,    ///< a READ of one packet waits for its response
  atomic_sent,  ///< an atomic waits for its response
};

struct Tuple {
  ibv_qp_type type = IBV_QPT_RC;
  ibv_qp_state state = IBV_QPS_RTS;
  Context context = Context::nothing;
  uint8_t opcode = 0;
  uint32_t bytes = 0;  ///< between the opcode's headers and the ICRC: payload and pad
  uint32_t pad = 0;    ///< as the BTH has it; at most `bytes` in a packet that can be right
};

enum class Reply : uint8_t { none, ack, nak, read_response, atomic_response, sent_again };

enum Events : uint8_t { kNoEvent = 0, kRequestError = 1, kEstablished = 2, kOtherEvent = 4 };

inline constexpr int kNoCompletion = -1;

/// All that can be seen of what became of the packet.
struct Outcome {
  DropReason drop = DropReason::none;
  Reply reply = Reply::none;
  uint8_t syndrome = 0;  ///< of a NAK
  ibv_qp_state state = IBV_QPS_RTS;
  int received = kNoCompletion;  ///< status of the receive request posted
  int sent = kNoCompletion;      ///< status of the send request in flight
  uint8_t events = kNoEvent;
  bool stored = false;  ///< memory has changed

  bool operator==(const Outcome&) const = default;
};

Outcome judge(const Tuple& tuple);

std::string in_words(const Tuple& tuple);
std::string in_words(const Outcome& outcome);

}  // namespace roce::enumeration
