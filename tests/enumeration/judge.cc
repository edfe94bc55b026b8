// The rules, one function for each chapter of docs/rules.md.
// SPDX-License-Identifier: BSD-3-Clause
#include "enumeration/judge.h"

#include <cstdio>

#include "enumeration/wire_table.h"

namespace roce::enumeration {
namespace {

constexpr uint8_t kNakSequence = 0x60;
constexpr uint8_t kNakInvalid = 0x61;

uint8_t class_of(ibv_qp_type type) {
  return type == IBV_QPT_RC ? kRc : type == IBV_QPT_UC ? kUc : kUd;
}

/// S19: requests.
bool receives(ibv_qp_state state) {
  return state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD ||
         state == IBV_QPS_SQE;
}

/// The packet, taken apart, and the outcome as it grows.
struct Case {
  const Tuple& tuple;
  Row row;
  uint32_t payload = 0;
  Outcome out;

  bool request_in_flight() const {
    return tuple.context == Context::send_sent || tuple.context == Context::read_sent ||
           tuple.context == Context::atomic_sent;
  }
  bool message_open() const {
    return tuple.context == Context::send_open || tuple.context == Context::write_open;
  }
  /// P3.
  bool pad_fits() const { return (payload + tuple.pad) % 4 == 0; }
  /// P4.
  bool length_fits() const {
    if (!row.ends()) {
      return payload == kPmtu;
    }
    return payload <= kPmtu && (row.begins() || payload > 0);
  }

  Outcome dropped(DropReason reason) {
    out.drop = reason;
    return out;
  }
  /// Everything posted ends as flushed, unless it has ended otherwise (Q11).
  void enter_error() {
    out.state = IBV_QPS_ERR;
    if (out.received == kNoCompletion) {
      out.received = IBV_WC_WR_FLUSH_ERR;
    }
    if (out.sent == kNoCompletion && request_in_flight()) {
      out.sent = IBV_WC_WR_FLUSH_ERR;
    }
  }
  /// R7 to R12: NAK 0x61; the receive WQE in use ends in error, else an event is raised.
  Outcome refused(bool receive_in_use) {
    out.reply = Reply::nak;
    out.syndrome = kNakInvalid;
    if (receive_in_use) {
      out.received = IBV_WC_REM_INV_REQ_ERR;
    } else {
      out.events |= kRequestError;
    }
    enter_error();
    return out;
  }
  /// Q7.
  Outcome bad_response() {
    out.sent = IBV_WC_BAD_RESP_ERR;
    enter_error();
    return out;
  }
};

/// R, with the PSN that is expected.
Outcome judge_rc_in_order(Case& c) {
  const bool send_open = c.tuple.context == Context::send_open;
  if (!c.row.known()) {
    return c.refused(send_open);  // R8
  }
  const Context continued = c.row.kind == Kind::send ? Context::send_open : Context::write_open;
  if (c.row.begins() ? c.message_open() : c.tuple.context != continued) {
    return c.refused(send_open);  // R7
  }
  const bool data = c.row.kind == Kind::send || c.row.kind == Kind::write;
  const bool takes_receive = c.row.kind == Kind::send || c.row.imm;
  if (data && !(c.length_fits() && c.pad_fits())) {
    return c.refused(takes_receive);  // R12
  }
  if (!data && (c.tuple.pad != 0 || c.payload != (c.row.kind == Kind::atomic_write ? 8 : 0))) {
    return c.refused(false);  // P5, X2
  }
  if (c.tuple.state == IBV_QPS_RTR && !c.message_open()) {
    c.out.events |= kEstablished;  // C5
  }
  c.out.stored = c.payload > 0 || c.row.kind == Kind::atomic;
  switch (c.row.kind) {
    case Kind::read:
    case Kind::atomic_write:
    case Kind::flush:
      c.out.reply = Reply::read_response;
      return c.out;
    case Kind::atomic:
      c.out.reply = Reply::atomic_response;
      return c.out;
    default:
      break;
  }
  c.out.reply = Reply::ack;  // A1: each packet asks for it
  if (c.row.ends() && takes_receive) {
    c.out.received = IBV_WC_SUCCESS;
  }
  if (c.row.invalidate) {
    c.out.received = IBV_WC_REM_INV_REQ_ERR;  // R15: the key is that of a region
    c.out.events = kNoEvent;
    c.enter_error();
  }
  return c.out;
}

Outcome judge_rc_request(Case& c) {
  if (c.tuple.context == Context::ahead) {
    c.out.reply = Reply::nak;  // R1
    c.out.syndrome = kNakSequence;
    return c.dropped(DropReason::out_of_sequence);
  }
  if (c.tuple.context == Context::behind) {
    if (c.row.kind != Kind::send && c.row.kind != Kind::write) {
      return c.dropped(DropReason::duplicate_request);  // R4: there was none before
    }
    c.out.reply = Reply::ack;  // R2
    return c.out;
  }
  return judge_rc_in_order(c);
}

/// Q, with the PSN of the request in flight.
Outcome judge_rc_response(Case& c) {
  if (c.tuple.state != IBV_QPS_RTS && c.tuple.state != IBV_QPS_SQD) {
    return c.dropped(DropReason::qp_state);  // S19
  }
  if (!c.request_in_flight()) {
    return c.dropped(DropReason::ghost_response);  // Q2
  }
  const bool empty = c.payload == 0 && c.tuple.pad == 0;
  if (c.row.kind == Kind::acknowledge) {
    if (!empty) {
      return c.bad_response();
    }
    if (c.tuple.context == Context::send_sent) {
      c.out.sent = IBV_WC_SUCCESS;
    } else {
      c.out.reply = Reply::sent_again;  // Q1: an implied NAK
    }
    return c.out;
  }
  const bool read = c.tuple.context == Context::read_sent && c.row.kind == Kind::read_response &&
                    c.row.place == Place::only && c.payload == kReadBytes && c.pad_fits();
  const bool atomic =
      c.tuple.context == Context::atomic_sent && c.row.kind == Kind::atomic_acknowledge && empty;
  if (!read && !atomic) {
    return c.bad_response();
  }
  c.out.sent = IBV_WC_SUCCESS;
  c.out.stored = true;
  return c.out;
}

/// U.
Outcome judge_uc(Case& c) {
  if (!c.row.known()) {
    return c.dropped(DropReason::unknown_opcode);
  }
  const Context continued = c.row.kind == Kind::send ? Context::send_open : Context::write_open;
  if (!c.row.begins() && c.tuple.context != continued) {
    return c.dropped(DropReason::broken_message);
  }
  if (!c.length_fits() || !c.pad_fits()) {
    return c.dropped(DropReason::length);
  }
  c.out.stored = c.payload > 0;
  if (c.row.ends() && (c.row.kind == Kind::send || c.row.imm)) {
    c.out.received = IBV_WC_SUCCESS;
  }
  return c.out;
}

/// D.
Outcome judge_ud(Case& c) {
  if (!c.row.known()) {
    return c.dropped(DropReason::unknown_opcode);
  }
  if (!c.length_fits() || !c.pad_fits()) {
    return c.dropped(DropReason::length);
  }
  c.out.stored = true;  // the 40 bytes in front
  c.out.received = IBV_WC_SUCCESS;
  return c.out;
}

}  // namespace

/// S.
Outcome judge(const Tuple& tuple) {
  const auto transport = static_cast<uint8_t>(tuple.opcode >> 5);
  Case c{tuple, row_of(transport, tuple.opcode & 0x1f), tuple.bytes - tuple.pad, {}};
  c.out.state = tuple.state;
  const bool congestion = tuple.opcode == kCongestion;
  if (transport != kRc && transport != kUc && transport != kUd && !congestion) {
    return c.dropped(DropReason::unknown_opcode);  // S13
  }
  if (tuple.bytes < tuple.pad) {
    return c.dropped(DropReason::headers_too_short);  // S14
  }
  if (congestion) {
    return c.out;  // S24
  }
  if (transport != class_of(tuple.type)) {
    return c.dropped(DropReason::qp_type);  // S18
  }
  if (!receives(tuple.state)) {
    return c.dropped(DropReason::qp_state);  // S19
  }
  switch (tuple.type) {
    case IBV_QPT_UC:
      return judge_uc(c);
    case IBV_QPT_UD:
      return judge_ud(c);
    default:
      return c.row.is_response() ? judge_rc_response(c) : judge_rc_request(c);
  }
}

std::string in_words(const Tuple& t) {
  constexpr const char* kStates[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  constexpr const char* kContexts[] = {"nothing going on", "a SEND begun",       "a WRITE begun",
                                       "a gap before it",  "a duplicate",        "a SEND in flight",
                                       "a READ in flight", "an atomic in flight"};
  char text[160];
  std::snprintf(text, sizeof text, "%s %s, %s: opcode 0x%02x, %u bytes of payload and pad, pad %u",
                t.type == IBV_QPT_RC   ? "RC"
                : t.type == IBV_QPT_UC ? "UC"
                                       : "UD",
                kStates[t.state], kContexts[static_cast<size_t>(t.context)], t.opcode, t.bytes,
                t.pad);
  return text;
}

std::string in_words(const Outcome& o) {
  constexpr const char* kReplies[] = {"none",          "ACK",           "NAK",
                                      "READ response", "atomic answer", "the request again"};
  char text[200];
  std::snprintf(text, sizeof text,
                "drop %s, reply %s 0x%02x, state %d, received %d, sent %d, events %u, stored %d",
                std::string(name_of(o.drop)).c_str(), kReplies[static_cast<size_t>(o.reply)],
                o.syndrome, o.state, o.received, o.sent, o.events, o.stored ? 1 : 0);
  return text;
}

}  // namespace roce::enumeration
