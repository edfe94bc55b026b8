// Judging responses against the send window.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/completer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "base/trace.h"
#include "wire/syndrome.h"

namespace roce {
namespace {

using wire::Operation;

// Indexed by SendOpcode; 10..13 are no requests.
constexpr std::array<CompletionOpcode, kSendOpcodes> kCompletionOpcodes = {
    CompletionOpcode::rdma_write, CompletionOpcode::rdma_write,
    CompletionOpcode::send,       CompletionOpcode::send,
    CompletionOpcode::rdma_read,  CompletionOpcode::compare_swap,
    CompletionOpcode::fetch_add,  CompletionOpcode::local_invalidate,
    CompletionOpcode::bind_mw,    CompletionOpcode::send,
    CompletionOpcode::send,       CompletionOpcode::send,
    CompletionOpcode::send,       CompletionOpcode::send,
    CompletionOpcode::flush,      CompletionOpcode::atomic_write};

bool is_atomic(const SendWqe& wqe) {
  return wqe.opcode == SendOpcode::compare_swap || wqe.opcode == SendOpcode::fetch_add;
}

/// Answered by a READ RESPONSE ONLY without data.
bool is_answered_empty(const SendWqe& wqe) {
  return wqe.opcode == SendOpcode::flush || wqe.opcode == SendOpcode::atomic_write;
}

/// Q7, as far as it needs nothing but the packet: only READ responses carry payload, and the pad
/// fills up to four bytes.
bool length_possible(const wire::Packet& packet) {
  return packet.pad_count == (-packet.payload_len & 3) &&
         (packet.payload_len == 0 || packet.info->payload);
}

constexpr uint8_t kRetryForEver = 7;  // of rnr_retry only; retry_cnt 7 is seven

}  // namespace

void Completer::reset() {
  gap_noted_ = false;
  retries_ = rnr_retries_ = probes_ = rewinds_ = single_steps_ = 0;
  reported_ = false;
  peer_ = Peer::unknown;
}

DropReason Completer::on_response(Instant now, const wire::Packet& packet,
                                  const RegionTable& regions) {
  if (!window_.outstanding(packet.psn)) {
    return DropReason::ghost_response;
  }
  const Psn before = window_.una();
  const DropReason reason = take(now, packet, regions);
  window_.widen(SendWindow::distance(before, window_.una()));
  window_.round_trip().acknowledged(window_.una(), now);
  if (window_.repairing() && window_.una() != window_.repair_psn()) [[unlikely]] {
    end_repair(now);
  }
  return reason;
}

DropReason Completer::take(Instant now, const wire::Packet& packet, const RegionTable& regions) {
  if (!length_possible(packet)) {
    fail(CompletionStatus::bad_response_error);
    return DropReason::none;
  }
  switch (packet.operation()) {
    case Operation::acknowledge:
      return on_acknowledge(now, packet);
    case Operation::atomic_acknowledge:
      return on_atomic_response(now, packet, regions);
    default:
      return on_read_response(now, packet, regions);
  }
}

DropReason Completer::on_acknowledge(Instant now, const wire::Packet& packet) {
  const uint8_t syndrome = packet.aeth().syndrome;
  switch (wire::kind_of(syndrome)) {
    case wire::AckKind::ack: {
      const bool judged = window_.repairing();
      const Psn repaired = window_.repair_psn();
      retire_before(now, packet.psn + 1);
      if (judged && window_.una() != repaired) {
        judge_peer(now, repaired, true);
      }
      return DropReason::none;
    }
    case wire::AckKind::rnr_nak:
    case wire::AckKind::nak:
      return on_nak(now, packet.psn, syndrome);
    case wire::AckKind::reserved:
      break;
  }
  return DropReason::reserved_syndrome;
}

DropReason Completer::on_nak(Instant now, Psn psn, uint8_t syndrome) {
  const bool rnr = wire::kind_of(syndrome) == wire::AckKind::rnr_nak;
  const uint8_t code = wire::code_of(syndrome);
  if (!rnr && code > static_cast<uint8_t>(wire::NakCode::remote_operational_error)) {
    return DropReason::reserved_syndrome;
  }
  // A NAK acknowledges everything before its PSN; a READ that is incomplete before it was lost.
  const bool judged = window_.repairing();
  const Psn repaired = window_.repair_psn();
  if (!retire_before(now, psn)) {
    return DropReason::none;
  }
  if (window_.in_flight() == 0) {
    return DropReason::none;  // a duplicate of a NAK that has been acted on
  }
  if (judged && window_.una() != repaired) {
    judge_peer(now, repaired, false);
  }
  if (rnr) {
    ++core_.counters.rnr_naks_rcvd;
    trace::rnr_received(core_.qpn, psn.value(), wire::rnr_delay(code).ns);
    if (core_.attr.rnr_retry != kRetryForEver) {
      if (rnr_retries_ >= core_.attr.rnr_retry) {
        ++core_.counters.rnr_retry_exceeded;
        fail(CompletionStatus::rnr_retry_exceeded, syndrome);
        return DropReason::none;
      }
      ++rnr_retries_;
    }
    rewind();
    window_.set_hold(now + wire::rnr_delay(code));
    return DropReason::none;
  }
  trace::nak_received(core_.qpn, psn.value(), code);
  switch (static_cast<wire::NakCode>(code)) {
    case wire::NakCode::psn_sequence_error:
      ++core_.counters.sequence_naks_rcvd;
      repair(now);
      break;
    case wire::NakCode::invalid_request:
      fail(CompletionStatus::remote_invalid_request, syndrome);
      break;
    case wire::NakCode::remote_access_error:
      fail(CompletionStatus::remote_access_error, syndrome);
      break;
    case wire::NakCode::remote_operational_error:
      fail(CompletionStatus::remote_operation_error, syndrome);
      break;
  }
  return DropReason::none;
}

/// Retires everything that an acknowledgement of all PSNs before `psn` covers. False when a READ or
/// atomic stands in the way: its response was lost.
bool Completer::retire_before(Instant now, Psn psn) {
  while (window_.una() != psn) {
    SendWqe* const wqe = window_.oldest();
    if (is_read_or_atomic(wqe->opcode)) {
      implied_nak(now);
      return false;
    }
    note_progress(now);
    if (psn.since(wqe->end_psn()) < 0) {
      window_.acknowledge_up_to(psn);
      return true;
    }
    complete_oldest();
  }
  return true;
}

/// Retires what the response implies and returns the WQE that waits for exactly this PSN; nullptr
/// when the response is not the next one expected.
SendWqe* Completer::expect_response(Instant now, Psn psn, bool atomic) {
  while (window_.una() != psn) {
    SendWqe* const wqe = window_.oldest();
    if (is_read_or_atomic(wqe->opcode)) {
      implied_nak(now);
      return nullptr;
    }
    if (psn.since(wqe->end_psn()) < 0) {
      fail(CompletionStatus::bad_response_error);  // a response to a SEND or WRITE
      return nullptr;
    }
    note_progress(now);
    complete_oldest();
  }
  SendWqe* const wqe = window_.oldest();
  if (!is_read_or_atomic(wqe->opcode) || is_atomic(*wqe) != atomic) {
    fail(CompletionStatus::bad_response_error);
    return nullptr;
  }
  return wqe;
}

/// Q7: the opcode fits the place in the READ, and the payload has the length of that place. A READ
/// starts with FIRST or ONLY; a resumed one does so anywhere.
bool Completer::well_formed(const wire::Packet& packet, const SendWqe& wqe) const {
  const uint32_t index = (packet.psn - wqe.first_psn.value()).value();
  const bool last = index + 1 == wqe.psn_count;
  const uint32_t expected = last ? wqe.length - (index << core_.attr.pmtu_shift) : core_.pmtu();
  const bool started = index > 0 || packet.info->first;
  if (!started || packet.info->last != last || packet.payload_len != expected) {
    return false;
  }
  return !packet.info->aeth || wire::kind_of(packet.aeth().syndrome) == wire::AckKind::ack;
}

bool Completer::well_formed_empty(const wire::Packet& packet) const {
  return packet.operation() == Operation::read_response_only && packet.payload_len == 0 &&
         wire::kind_of(packet.aeth().syndrome) == wire::AckKind::ack;
}

DropReason Completer::on_read_response(Instant now, const wire::Packet& packet,
                                       const RegionTable& regions) {
  SendWqe* const wqe = expect_response(now, packet.psn, false);
  if (wqe == nullptr) {
    return DropReason::none;
  }
  if (is_answered_empty(*wqe) ? !well_formed_empty(packet) : !well_formed(packet, *wqe)) {
    fail(CompletionStatus::bad_response_error);
    return DropReason::none;
  }
  const uint32_t offset = (packet.psn - wqe->first_psn.value()).value() << core_.attr.pmtu_shift;
  if (const auto fault = place(regions, *wqe, offset, packet.payload, packet.payload_len)) {
    fail(*fault);
    return DropReason::none;
  }
  note_progress(now);
  if (packet.info->last) {
    complete_oldest();
  } else {
    window_.acknowledge_up_to(packet.psn + 1);
  }
  return DropReason::none;
}

DropReason Completer::on_atomic_response(Instant now, const wire::Packet& packet,
                                         const RegionTable& regions) {
  SendWqe* const wqe = expect_response(now, packet.psn, true);
  if (wqe == nullptr) {
    return DropReason::none;
  }
  if (wire::kind_of(packet.aeth().syndrome) != wire::AckKind::ack) {
    fail(CompletionStatus::bad_response_error);
    return DropReason::none;
  }
  const uint64_t original = packet.atomic_ack_eth().original;
  const auto bytes = std::bit_cast<std::array<uint8_t, sizeof original>>(original);
  if (const auto fault = place(regions, *wqe, 0, bytes.data(), sizeof original)) {
    fail(*fault);
    return DropReason::none;
  }
  note_progress(now);
  complete_oldest();
  return DropReason::none;
}

std::optional<CompletionStatus> Completer::place(const RegionTable& regions, const SendWqe& wqe,
                                                 uint32_t offset, const uint8_t* data,
                                                 uint32_t len) const {
  SgePosition at;
  advance(wqe.sges(), at, offset);
  const MemoryFault fault = walk({regions, core_.pd}, wqe.sges(), at, len, Access::local_write,
                                 [&data](uint8_t* host, uint32_t n) {
                                   std::memcpy(host, data, n);
                                   data += n;
                                 });
  switch (fault) {
    case MemoryFault::none:
      return std::nullopt;
    case MemoryFault::protection:
      return CompletionStatus::local_protection_error;
    case MemoryFault::length:
      break;
  }
  return CompletionStatus::local_length_error;
}

void Completer::settle(Instant now) {
  if (!can_receive_responses(core_.now_in())) {
    return;  // what was posted is flushed, and its slots are no longer the window's
  }
  if (core_.type != QpType::rc) {
    retire_before(now, window_.next());
  }
  if (window_.oldest_is_done_locally()) {
    complete_oldest();
  }
}

void Completer::fail(CompletionStatus status, uint8_t vendor_error) {
  // First, since a lost completion leads further than to SQE.
  if (core_.now_in() != QpState::err) {
    core_.enter(core_.type == QpType::rc ? QpState::err : QpState::sqe);
  }
  // IBTA 10.7.3.1: an error completes even an unsignalled WQE.
  push(*window_.oldest(), status, vendor_error);
  window_.retire_oldest();
}

bool Completer::flush(uint32_t limit) {
  SendQueue& queue = window_.queue();
  for (; limit > 0 && queue.has(0); --limit) {
    push(queue.at(0), CompletionStatus::flush_error, 0);
    queue.release();
  }
  return !queue.has(0);
}

/// With it go the local requests behind it: they have been carried out, and it was their turn.
void Completer::complete_oldest() {
  do {
    const SendWqe& wqe = *window_.oldest();
    if (core_.signal_all || (wqe.flags & kSendSignaled) != 0) {
      push(wqe, CompletionStatus::success, 0);
    }
    window_.retire_oldest();
  } while (window_.oldest_is_done_locally());
}

void Completer::push(const SendWqe& wqe, CompletionStatus status, uint8_t vendor_error) {
  Cqe cqe;
  cqe.wr_id = wqe.wr_id;
  cqe.qpn = core_.qpn;
  cqe.status = status;
  cqe.opcode = kCompletionOpcodes[static_cast<size_t>(wqe.opcode)];
  cqe.byte_len = is_atomic(wqe) ? sizeof(uint64_t) : is_local(wqe.opcode) ? 0 : wqe.length;
  cqe.vendor_error = vendor_error;
  if (!core_.send_cq->push(cqe)) {
    core_.lose_completion(kEventSendCqOverrun);
  }
}

}  // namespace roce
