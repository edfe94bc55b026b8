// The responder's output: READ and atomic responses in order, then the ACK or NAK that is due.
// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "base/limits.h"
#include "base/trace.h"
#include "qp/responder.h"

namespace roce {

void Responder::pull_replies(Step& step) {
  while (replies_.pending() > 0 && !step.full() && core_.pace_allows(step.now())) {
    Reply& reply = replies_.front();
    switch (reply.kind) {
      case ReplyKind::read:
        pull_read(step, reply);
        break;
      case ReplyKind::atomic:
        pull_atomic(step, reply);
        break;
      case ReplyKind::empty:
        pull_empty(step, reply);
        break;
    }
  }
  // Asks for one early turn, whatever comes of it.
  const bool urgent = std::exchange(urgent_, false);
  if (answer_ == Answer::nak || ack_waited_ >= kAckPatience) {
    pull_answer(step);
    if (urgent) [[unlikely]] {
      step.end_turn();  // the peer sends nothing of use before it has heard
    }
  }
}

void Responder::pull_ack(Step& step, bool alone) {
  if (answer_ != Answer::ack) {
    return;
  }
  const bool follows_data = follows_data_;
  follows_data_ = !alone;
  if (alone && !follows_data && ack_waited_ > 0) {
    pull_answer(step);
  } else if (ack_waited_ < kAckPatience) {
    ++ack_waited_;
  }
}

void Responder::pull_read(Step& step, Reply& reply) {
  using wire::Operation;
  const uint32_t offset = reply.next << core_.attr.pmtu_shift;
  const bool first = reply.next == reply.begin;
  const bool last = reply.next + 1 == reply.end;
  const uint32_t len = last ? reply.end_offset - offset : core_.pmtu();
  const uint8_t* const from =
      len > 0 ? step.regions().resolve_remote(reply.rkey, user(), reply.va + offset, len,
                                              Access::remote_read)
              : nullptr;
  if (len > 0 && from == nullptr) {
    // R11: the region vanished; the NAK takes the place of this response.
    expected_ = reply.first_psn + reply.next;
    replies_.reset(replies_.capacity());
    refuse_request({wire::NakCode::remote_access_error, CompletionStatus::remote_access_error});
    return;
  }
  Operation op = Operation::read_response_middle;
  if (first) {
    op = last ? Operation::read_response_only : Operation::read_response_first;
  } else if (last) {
    op = Operation::read_response_last;
  }
  const uint8_t opcode = wire::opcode_of(core_.type, op);
  uint8_t* const ext = step.open(
      core_.path, {.opcode = opcode, .psn = reply.first_psn + reply.next, .payload_len = len});
  if (wire::kOpcodes[opcode].aeth) {
    wire::Aeth{wire::kSyndromeAck, reply.msn}.emit(ext);
  }
  step.append(from, len);
  step.close();
  core_.charge(step.now(), len + kPacketOverhead);
  ++reply.next;
  if (last) {
    replies_.finish(reply);
  }
}

void Responder::pull_atomic(Step& step, Reply& reply) {
  const uint8_t opcode = wire::opcode_of(core_.type, wire::Operation::atomic_acknowledge);
  uint8_t* const ext = step.open(core_.path, {.opcode = opcode, .psn = reply.first_psn});
  wire::Aeth{wire::kSyndromeAck, reply.msn}.emit(ext);
  wire::AtomicAckEth{reply.original}.emit(ext + wire::Aeth::kSize);
  step.close();
  replies_.finish(reply);
}

void Responder::pull_empty(Step& step, Reply& reply) {
  const uint8_t opcode = wire::opcode_of(core_.type, wire::Operation::read_response_only);
  uint8_t* const ext = step.open(core_.path, {.opcode = opcode, .psn = reply.first_psn});
  wire::Aeth{wire::kSyndromeAck, reply.msn}.emit(ext);
  step.close();
  replies_.finish(reply);
}

/// A NAK, of either kind, is about to leave.
void Responder::trace_nak() const {
  const uint32_t code = wire::code_of(syndrome_);
  if (wire::kind_of(syndrome_) == wire::AckKind::rnr_nak) {
    trace::rnr_sent(core_.qpn, expected_.value(), code);
  } else {
    trace::nak_sent(core_.qpn, expected_.value(), code);
  }
}

void Responder::pull_answer(Step& step) {
  // It covers the PSNs of the replies before it, so it must not overtake them.
  if (replies_.pending() > 0 || answer_ == Answer::none || step.full()) {
    return;
  }
  const bool ack = answer_ == Answer::ack;
  if (!ack) [[unlikely]] {
    trace_nak();
  }
  const uint8_t opcode = wire::opcode_of(core_.type, wire::Operation::acknowledge);
  // An ACK names the last PSN executed, a NAK the one expected.
  uint8_t* const ext =
      step.open(core_.path, {.opcode = opcode, .psn = ack ? expected_ - 1 : expected_});
  wire::Aeth{ack ? wire::kSyndromeAck : syndrome_, msn_}.emit(ext);
  step.close();
  ++core_.counters.acks_sent;
  answer_ = Answer::none;
  ack_waited_ = 0;
}

}  // namespace roce
