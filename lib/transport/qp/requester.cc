// Request packets: one small function a kind of request.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/requester.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/trace.h"
#include "wire/opcode.h"

namespace roce {
namespace {

using wire::Operation;

/// Row of the table below: operation by place in the message.
struct DataOps {
  Operation first, middle, last, only;
};

constexpr DataOps kSendOps{Operation::send_first, Operation::send_middle, Operation::send_last,
                           Operation::send_only};
constexpr DataOps kSendImmOps{Operation::send_first, Operation::send_middle,
                              Operation::send_last_imm, Operation::send_only_imm};
constexpr DataOps kSendInvOps{Operation::send_first, Operation::send_middle,
                              Operation::send_last_inv, Operation::send_only_inv};
constexpr DataOps kWriteOps{Operation::write_first, Operation::write_middle, Operation::write_last,
                            Operation::write_only};
constexpr DataOps kWriteImmOps{Operation::write_first, Operation::write_middle,
                               Operation::write_last_imm, Operation::write_only_imm};

// Indexed by SendOpcode; the other rows are never looked up.
constexpr std::array<DataOps, kSendOpcodes> kDataOps = [] {
  std::array<DataOps, kSendOpcodes> table{};
  table[static_cast<size_t>(SendOpcode::rdma_write)] = kWriteOps;
  table[static_cast<size_t>(SendOpcode::rdma_write_imm)] = kWriteImmOps;
  table[static_cast<size_t>(SendOpcode::send)] = kSendOps;
  table[static_cast<size_t>(SendOpcode::send_imm)] = kSendImmOps;
  table[static_cast<size_t>(SendOpcode::send_invalidate)] = kSendInvOps;
  table[static_cast<size_t>(SendOpcode::atomic_write)].only = Operation::atomic_write;
  return table;
}();

Operation data_operation(SendOpcode opcode, bool first, bool last) {
  const DataOps& ops = kDataOps[static_cast<size_t>(opcode)];
  if (first) {
    return last ? ops.only : ops.first;
  }
  return last ? ops.last : ops.middle;
}

/// PSNs that a message takes: one a packet, of the response in the case of a READ; none when it
/// never leaves this side.
uint32_t psns_for(const SendWqe& wqe, uint32_t pmtu_shift) {
  switch (wqe.opcode) {
    case SendOpcode::compare_swap:
    case SendOpcode::fetch_add:
    case SendOpcode::flush:
    case SendOpcode::atomic_write:
      return 1;
    case SendOpcode::local_invalidate:
    case SendOpcode::bind_mw:
      return 0;
    default:
      break;
  }
  const uint64_t packets = (uint64_t{wqe.length} + (1u << pmtu_shift) - 1) >> pmtu_shift;
  return std::max<uint32_t>(1, static_cast<uint32_t>(packets));
}

}  // namespace

void Requester::reset() {
  fault_.reset();
  cursor_ = {};
  cursor_known_ = false;
}

bool Requester::may_send(Instant now) const {
  const QpState state = core_.now_in();
  // Nobody acknowledges UC and UD: there is no window.
  const bool open = core_.type != QpType::rc || window_.has_room();
  return open && !window_.waits_for_repair() && core_.pace_allows(now) &&
         (state == QpState::rts || state == QpState::sqd) && now >= window_.hold_until();
}

void Requester::pull(Step& step) {
  if (fault_ && window_.next_index() > 0) {
    return;  // waits until everything before the bad WQE is complete
  }
  fault_.reset();
  if (window_.repair_due() && send_repair(step)) [[unlikely]] {
    step.end_turn();  // nothing behind it is acknowledged before it has arrived
    return;
  }
  const size_t soon = step.used() + window_.packets_at_once();
  while (!step.full() && may_send(step.now())) {
    if (step.used() == soon) [[unlikely]] {
      step.end_turn();  // and the peer's answer is looked for
      return;
    }
    SendWqe* wqe = window_.current();
    if (wqe == nullptr) {
      wqe = admit_next();
      if (wqe == nullptr) {
        return;
      }
    }
    if (!send_packet(step, *wqe)) {
      return;
    }
  }
}

/// The oldest packet once more, whatever else is under way. False: it cannot be sent now.
bool Requester::send_repair(Step& step) {
  const QpState state = core_.now_in();
  // In error the queue is flushed, and what is in it is no longer the window's.
  if (step.full() || (state != QpState::rts && state != QpState::sqd) ||
      step.now() < window_.hold_until() || !core_.pace_allows(step.now())) {
    return false;
  }
  SendWqe* const wqe = window_.oldest();
  if (wqe == nullptr || is_local(wqe->opcode)) {
    return false;
  }
  repairing_ = true;
  const bool sent = send_packet(step, *wqe);
  repairing_ = false;
  if (!sent) {
    window_.rewind();  // its memory has gone: it fails in its turn
  }
  return sent;
}

SendWqe* Requester::admit_next() {
  SendWqe* const wqe = window_.candidate();
  // SQD: what has been posted meanwhile is not started.
  if (wqe == nullptr || core_.now_in() != QpState::rts) {
    return nullptr;
  }
  if ((wqe->flags & kSendFence) != 0 && must_wait(*wqe)) {
    return nullptr;
  }
  window_.admit(psns_for(*wqe, core_.attr.pmtu_shift));
  return wqe;
}

/// 10.8.3.3: a fence waits for earlier READs and atomics, nothing else; that of a local invalidate
/// (10.6.5.1) waits for everything.
bool Requester::must_wait(const SendWqe& wqe) const {
  return window_.reads_admitted() > 0 ||
         (wqe.opcode == SendOpcode::local_invalidate && !window_.drained());
}

bool Requester::send_packet(Step& step, SendWqe& wqe) {
  if (is_local(wqe.opcode)) {
    return do_local(step, wqe);
  }
  if (core_.type == QpType::ud) {
    return send_datagram(step, wqe);
  }
  return is_read_or_atomic(wqe.opcode) ? send_with_response(step, wqe) : send_data(step, wqe);
}

/// Local requests are carried out in their turn, once: a rewind passes them by.
bool Requester::do_local(Step& step, SendWqe& wqe) {
  if (!wqe.executed) {
    const RemoteUser user{core_.pd, core_.qpn};
    const bool bind = wqe.opcode == SendOpcode::bind_mw;
    if (bind ? !step.regions().bind(wqe.binding(), user)
             : !step.regions().invalidate(wqe.rkey, user)) {
      fault_ = bind ? CompletionStatus::memory_window_bind_error
                    : CompletionStatus::local_qp_operation_error;
      return false;
    }
    wqe.executed = true;
  }
  window_.sent_up_to(window_.next());
  return true;
}

bool Requester::send_with_response(Step& step, const SendWqe& wqe) {
  if (!repairing_ && window_.reads_in_flight() >= core_.attr.max_rd_atomic) {
    return false;
  }
  switch (wqe.opcode) {
    case SendOpcode::rdma_read:
      send_read(step, wqe);
      return true;
    case SendOpcode::flush:
      send_flush(step, wqe);
      return true;
    case SendOpcode::atomic_write:
      return send_data(step, wqe);  // a WRITE ONLY by another name
    default:
      send_atomic(step, wqe);
      return true;
  }
}

/// UD: the way and the addressee are the WQE's own; the key may be the QP's (the upper bit asks for
/// it).
bool Requester::send_datagram(Step& step, SendWqe& wqe) {
  if (wqe.length > core_.pmtu()) {
    fault_ = CompletionStatus::local_length_error;
    return false;
  }
  const Psn psn = place();
  const bool imm = wqe.opcode == SendOpcode::send_imm;
  const uint8_t opcode =
      wire::opcode_of(core_.type, imm ? Operation::send_only_imm : Operation::send_only);
  uint8_t* ext =
      step.open(window_.queue().tail<Path>(wqe), {.opcode = opcode,
                                                  .solicited = (wqe.flags & kSendSolicited) != 0,
                                                  .psn = psn,
                                                  .payload_len = wqe.length});
  uint8_t* const bth = ext - wire::Bth::kSize;
  store_be<uint16_t>(bth + wire::Bth::kPkeyAt, core_.pkey);
  store_be24(bth + wire::Bth::kDestQpAt, wqe.remote_qpn());
  const bool own_key = (wqe.qkey() & 0x8000'0000u) != 0;
  wire::Deth{own_key ? core_.qkey : wqe.qkey(), 0, core_.qpn}.emit(ext);
  if (imm) {
    store_be<uint32_t>(ext + wire::Deth::kSize, wqe.imm_or_rkey);
  }
  if (!append_payload(step, wqe, 0, wqe.length)) {
    return false;
  }
  step.close();
  note_sent(step.now(), psn + 1, false);
  return true;
}

bool Requester::send_data(Step& step, const SendWqe& wqe) {
  const Psn psn = place();
  const uint32_t index = (psn - wqe.first_psn.value()).value();
  const uint32_t offset = index << core_.attr.pmtu_shift;
  const uint32_t len = std::min(core_.pmtu(), wqe.length - offset);
  const bool first = index == 0;
  const bool last = index + 1 == wqe.psn_count;
  const uint8_t opcode = wire::opcode_of(core_.type, data_operation(wqe.opcode, first, last));
  const wire::OpcodeInfo& info = wire::kOpcodes[opcode];

  const bool asks = core_.type == QpType::rc && ack_wanted(psn, last);
  // Only what takes a receive WQE can raise an event there.
  const bool may_solicit = last && (info.verb == wire::Verb::send || info.imm);
  uint8_t* ext =
      step.open(core_.path, {.opcode = opcode,
                             .solicited = may_solicit && (wqe.flags & kSendSolicited) != 0,
                             .ack_req = asks,
                             .psn = psn,
                             .payload_len = len});
  if (info.reth) {
    wire::Reth{wqe.remote_addr, wqe.rkey, wqe.length}.emit(ext);
    ext += wire::Reth::kSize;
  }
  if (info.imm || info.ieth) {
    store_be<uint32_t>(ext, wqe.imm_or_rkey);
  }
  if (!append_payload(step, wqe, offset, len)) {
    return false;
  }
  step.close();
  core_.charge(step.now(), len + kPacketOverhead);
  note_sent(step.now(), psn + 1, asks);
  return true;
}

bool Requester::append_payload(Step& step, const SendWqe& wqe, uint32_t offset, uint32_t len) {
  if (wqe.is_inline()) {
    step.append(wqe.inline_data() + offset, len);
    return true;
  }
  const Psn psn = place();
  if (offset == 0 || !cursor_known_ || psn != cursor_psn_) {
    cursor_ = {};
    advance(wqe.sges(), cursor_, offset);
  }
  const MemoryFault fault =
      walk({step.regions(), core_.pd}, wqe.sges(), cursor_, len, Access::none,
           [&step](const uint8_t* data, uint32_t n) { step.append(data, n); });
  if (fault != MemoryFault::none) {
    cursor_known_ = false;  // the position is in mid-packet: no packet may go on from there
    fault_ = CompletionStatus::local_protection_error;
    return false;
  }
  cursor_psn_ = psn + 1;
  cursor_known_ = true;
  return true;
}

void Requester::send_read(Step& step, const SendWqe& wqe) {
  const Psn psn = place();
  // A resumed READ asks only for what is missing.
  const uint32_t offset = (psn - wqe.first_psn.value()).value() << core_.attr.pmtu_shift;
  const uint8_t opcode = wire::opcode_of(core_.type, Operation::read_request);
  uint8_t* ext = step.open(core_.path, {.opcode = opcode, .ack_req = true, .psn = psn});
  wire::Reth{wqe.remote_addr + offset, wqe.rkey, wqe.length - offset}.emit(ext);
  step.close();
  note_sent(step.now(), wqe.end_psn(), true);
}

void Requester::send_atomic(Step& step, const SendWqe& wqe) {
  const Psn psn = place();
  const bool swap = wqe.opcode == SendOpcode::compare_swap;
  const uint8_t opcode =
      wire::opcode_of(core_.type, swap ? Operation::cmp_swap : Operation::fetch_add);
  uint8_t* ext = step.open(core_.path, {.opcode = opcode, .ack_req = true, .psn = psn});
  const uint64_t operand = swap ? wqe.swap() : wqe.compare_or_add;
  wire::AtomicEth{wqe.remote_addr, wqe.rkey, operand, swap ? wqe.compare_or_add : 0}.emit(ext);
  step.close();
  note_sent(step.now(), psn + 1, true);
}

void Requester::send_flush(Step& step, const SendWqe& wqe) {
  const Psn psn = place();
  const uint8_t opcode = wire::opcode_of(core_.type, Operation::flush);
  uint8_t* ext = step.open(core_.path, {.opcode = opcode, .ack_req = true, .psn = psn});
  store_be<uint32_t>(ext, wqe.flush_request());
  wire::Reth{wqe.remote_addr, wqe.rkey, wqe.length}.emit(ext + wire::Feth::kSize);
  step.close();
  note_sent(step.now(), psn + 1, true);
}

bool Requester::ack_wanted(Psn psn, bool last) const {
  return last || repairing_ || window_.wants_ack(psn);
}

void Requester::note_sent(Instant now, Psn up_to, bool asks) {
  if (repairing_) {
    core_.counters.retransmitted += 1;
    window_.repair_sent(now);
    trace::repair(core_.qpn, window_.repair_psn().value(), window_.repair_tries());
    return;
  }
  if (window_.in_flight() == 0) {
    window_.restart_timer(now);
  }
  if (window_.resending()) {
    core_.counters.retransmitted += 1;
    trace::retransmit(core_.qpn, window_.next().value());
  } else if (asks && !window_.repairing()) {  // its answer would have to wait for the repair
    window_.round_trip().start(window_.next(), now);
  }
  window_.sent_up_to(up_to);
}

}  // namespace roce
