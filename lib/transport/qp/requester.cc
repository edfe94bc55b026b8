// Request packets: one small function a kind of request.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/requester.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/bytes.h"
#include "base/limits.h"
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

// Indexed by SendOpcode; the rows of requests without payload are never looked up.
constexpr std::array<DataOps, 10> kDataOps = {kWriteOps, kWriteImmOps, kSendOps,  kSendImmOps,
                                              DataOps{}, DataOps{},    DataOps{}, DataOps{},
                                              DataOps{}, kSendInvOps};

Operation data_operation(SendOpcode opcode, bool first, bool last) {
  const DataOps& ops = kDataOps[static_cast<size_t>(opcode)];
  if (first) {
    return last ? ops.only : ops.first;
  }
  return last ? ops.last : ops.middle;
}

/// PSNs that a message takes: one a packet, of the response in the case of a READ.
uint32_t psns_for(const SendWqe& wqe, uint32_t pmtu_shift) {
  if (wqe.opcode == SendOpcode::compare_swap || wqe.opcode == SendOpcode::fetch_add) {
    return 1;
  }
  const uint64_t packets = (uint64_t{wqe.length} + (1u << pmtu_shift) - 1) >> pmtu_shift;
  return std::max<uint32_t>(1, static_cast<uint32_t>(packets));
}

}  // namespace

Requester::Requester(QpCore& core, SendWindow& window, uint32_t window_packets)
    : core_(core),
      window_(window),
      window_packets_(window_packets),
      // Often enough that the window never waits for an ACK nobody asked for.
      ack_interval_mask_(std::bit_floor(std::max(window_packets / 4, 1u)) - 1) {}

void Requester::reset() {
  fault_.reset();
  cursor_ = {};
  cursor_psn_ = {};
}

bool Requester::may_send(Instant now) const {
  const QpState state = core_.now_in();
  return (state == QpState::rts || state == QpState::sqd) && now >= window_.hold_until() &&
         window_.in_flight() < window_packets_;
}

void Requester::pull(Step& step) {
  if (fault_ && window_.next_index() > 0) {
    return;  // waits until everything before the bad WQE is complete
  }
  fault_.reset();
  while (!step.full() && may_send(step.now())) {
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

SendWqe* Requester::admit_next() {
  SendWqe* const wqe = window_.candidate();
  // SQD: what has been posted meanwhile is not started.
  if (wqe == nullptr || core_.now_in() != QpState::rts) {
    return nullptr;
  }
  // 10.8.3.3: a fence waits for earlier READs and atomics, nothing else.
  if ((wqe->flags & kSendFence) != 0 && window_.reads_admitted() > 0) {
    return nullptr;
  }
  window_.admit(psns_for(*wqe, core_.attr.pmtu_shift));
  return wqe;
}

bool Requester::send_packet(Step& step, const SendWqe& wqe) {
  if (!is_read_or_atomic(wqe.opcode)) {
    return send_data(step, wqe);
  }
  if (window_.reads_in_flight() >= core_.attr.max_rd_atomic) {
    return false;
  }
  if (wqe.opcode == SendOpcode::rdma_read) {
    send_read(step, wqe);
  } else {
    send_atomic(step, wqe);
  }
  return true;
}

bool Requester::send_data(Step& step, const SendWqe& wqe) {
  const Psn psn = window_.next();
  const uint32_t index = (psn - wqe.first_psn.value()).value();
  const uint32_t offset = index << core_.attr.pmtu_shift;
  const uint32_t len = std::min(core_.pmtu(), wqe.length - offset);
  const bool first = index == 0;
  const bool last = index + 1 == wqe.psn_count;
  const uint8_t opcode = wire::opcode_of(core_.type, data_operation(wqe.opcode, first, last));
  const wire::OpcodeInfo& info = wire::kOpcodes[opcode];

  uint8_t* ext = step.open(core_.path, {.opcode = opcode,
                                        .solicited = last && (wqe.flags & kSendSolicited) != 0,
                                        .ack_req = ack_wanted(psn, last),
                                        .psn = psn,
                                        .payload_len = len});
  if (info.reth) {
    wire::Reth{wqe.remote_addr, wqe.rkey, wqe.length}.emit(ext);
    ext += wire::Reth::kSize;
  }
  if (info.imm || info.ieth) {
    store_be<uint32_t>(ext, wqe.imm_or_rkey);
  }
  step.begin_payload();
  if (!append_payload(step, wqe, offset, len)) {
    return false;
  }
  step.close();
  note_sent(step.now(), psn + 1);
  return true;
}

bool Requester::append_payload(Step& step, const SendWqe& wqe, uint32_t offset, uint32_t len) {
  if (wqe.is_inline()) {
    step.append(wqe.inline_data() + offset, len);
    return true;
  }
  const Psn psn = window_.next();
  if (offset == 0 || psn != cursor_psn_) {
    cursor_ = {};
    advance(wqe.sges(), cursor_, offset);
  }
  const MemoryFault fault =
      walk({step.regions(), core_.pd}, wqe.sges(), cursor_, len, Access::none,
           [&step](const uint8_t* data, uint32_t n) { step.append(data, n); });
  if (fault != MemoryFault::none) {
    cursor_psn_ = psn - 1;  // the position is in mid-packet: no packet may go on from there
    fault_ = CompletionStatus::local_protection_error;
    return false;
  }
  cursor_psn_ = psn + 1;
  return true;
}

void Requester::send_read(Step& step, const SendWqe& wqe) {
  const Psn psn = window_.next();
  // A resumed READ asks only for what is missing.
  const uint32_t offset = (psn - wqe.first_psn.value()).value() << core_.attr.pmtu_shift;
  const uint8_t opcode = wire::opcode_of(core_.type, Operation::read_request);
  uint8_t* ext = step.open(core_.path, {.opcode = opcode, .ack_req = true, .psn = psn});
  wire::Reth{wqe.remote_addr + offset, wqe.rkey, wqe.length - offset}.emit(ext);
  step.begin_payload();
  step.close();
  note_sent(step.now(), wqe.end_psn());
}

void Requester::send_atomic(Step& step, const SendWqe& wqe) {
  const Psn psn = window_.next();
  const bool swap = wqe.opcode == SendOpcode::compare_swap;
  const uint8_t opcode =
      wire::opcode_of(core_.type, swap ? Operation::cmp_swap : Operation::fetch_add);
  uint8_t* ext = step.open(core_.path, {.opcode = opcode, .ack_req = true, .psn = psn});
  const uint64_t operand = swap ? wqe.swap() : wqe.compare_or_add;
  wire::AtomicEth{wqe.remote_addr, wqe.rkey, operand, swap ? wqe.compare_or_add : 0}.emit(ext);
  step.begin_payload();
  step.close();
  note_sent(step.now(), psn + 1);
}

bool Requester::ack_wanted(Psn psn, bool last) const {
  return last || (psn.value() & ack_interval_mask_) == ack_interval_mask_ ||
         window_.in_flight() + 1 == window_packets_;
}

void Requester::note_sent(Instant now, Psn up_to) {
  if (window_.in_flight() == 0) {
    window_.restart_timer(now);
  }
  if (window_.resending()) {
    core_.counters.retransmitted += 1;
  }
  window_.sent_up_to(up_to);
}

}  // namespace roce
