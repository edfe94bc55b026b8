// Responder: the RC one. Executes the peer's requests in PSN order and answers them. Input only
// changes state; the answers (READ and atomic responses, then one ACK or NAK for everything so far)
// come from the pull functions. Thread: the engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "base/drop_reason.h"
#include "cq/completion_queue.h"
#include "qp/core.h"
#include "qp/held_packets.h"
#include "qp/receiver.h"
#include "qp/reply_queue.h"
#include "qp/step.h"
#include "qp/write_target.h"
#include "wire/packet.h"
#include "wire/syndrome.h"

namespace roce {

/// What became of a request that arrived in order. One word: three bytes would go through memory,
/// and reading them together would wait until the payload's stores are through.
class RequestOutcome {
 public:
  enum class Kind : uint8_t { executed, receiver_not_ready, refused };

  constexpr explicit RequestOutcome(Kind kind) : bits_(static_cast<uint32_t>(kind)) {}
  /// Refused. `local`: what a receive WQE in use ends with.
  constexpr RequestOutcome(wire::NakCode nak, CompletionStatus local)
      : bits_(static_cast<uint32_t>(Kind::refused) | static_cast<uint32_t>(nak) << 8 |
              static_cast<uint32_t>(local) << 16) {}

  Kind kind() const { return static_cast<Kind>(bits_ & 0xff); }
  wire::NakCode nak() const { return static_cast<wire::NakCode>(bits_ >> 8 & 0xff); }
  CompletionStatus local() const { return static_cast<CompletionStatus>(bits_ >> 16 & 0xff); }

 private:
  uint32_t bits_;
};

class Responder {
 public:
  /// `pool`: where requests wait that come before an earlier one; nullptr: they are dropped.
  Responder(QpCore& core, Receiver& receiver, HoldingPool* pool)
      : core_(core), receiver_(receiver), held_(pool) {}

  /// Starts afresh: `expected` is the PSN of the peer's first request. Allocates the reply table.
  void reset(Psn expected);

  /// max_dest_rd_atomic has changed.
  void resize_replies() { replies_.resize(core_.attr.max_dest_rd_atomic); }

  /// Takes one request. Not `none`: it was dropped, for that reason.
  DropReason on_request(Instant now, const wire::Packet& packet, RegionTable& regions);

  /// Looks at the clock: a gap that reordering does not explain any longer is reported.
  void on_timeout(Instant now);
  /// When on_timeout() has something to do.
  Instant deadline() const { return gap_deadline_; }

  /// Builds responses while the step has room, and the NAK or ACK behind them that cannot wait.
  void pull_replies(Step& step);
  /// Builds the ACK that is due, unless it had better wait: for further messages to acknowledge,
  /// and until what the application sends in answer has left, since that is what somebody waits
  /// for, in a burst without it. `alone`: the QP sends nothing else in this turn.
  void pull_ack(Step& step, bool alone);

  /// What is due is sent at the next pull(), without waiting for company.
  void hurry() { ack_waited_ = kAckPatience; }
  /// Forgets what is due: the QP no longer answers.
  void silence();

  /// The peer waits for what is due: a gap is to be reported, or has been closed.
  bool answers_at_once() const { return urgent_; }
  bool wants_tx() const { return replies_.pending() > 0 || answer_ != Answer::none; }

  /// A request has been executed.
  bool established() const { return established_; }
  /// What an ACK names now: the PSN executed last, and the number of messages.
  Psn last_executed() const { return expected_ - 1; }
  uint32_t executed_messages() const { return msn_; }

 private:
  /// Steps after which an ACK is sent even if the QP is busy sending.
  static constexpr uint8_t kAckPatience = 3;

  /// What is due after the pending replies; the newest wins.
  enum class Answer : uint8_t { none, ack, nak };
  /// Message that FIRST has opened and LAST has not closed yet.
  enum class Open : uint8_t { nothing, send, write };

  void take(const wire::Packet& packet, RegionTable& regions);
  void take_held(RegionTable& regions);
  void watch_gap(Instant now, bool repaired);
  DropReason on_ahead(Instant now, const wire::Packet& packet, int32_t distance,
                      const RegionTable& regions);
  HeldPackets::Kept keep(const wire::Packet& packet, int32_t distance, const RegionTable& regions);
  void nak_gap();
  DropReason on_duplicate(const wire::Packet& packet);
  DropReason on_duplicate_read(const wire::Packet& packet);
  RequestOutcome execute(const wire::Packet& packet, RegionTable& regions);
  RequestOutcome on_send(const wire::Packet& packet, RegionTable& regions);
  RequestOutcome on_write(const wire::Packet& packet, const RegionTable& regions);
  RequestOutcome on_read(const wire::Packet& packet, const RegionTable& regions);
  RequestOutcome on_atomic(const wire::Packet& packet, const RegionTable& regions);
  RequestOutcome on_atomic_write(const wire::Packet& packet, const RegionTable& regions);
  RequestOutcome on_flush(const wire::Packet& packet, const RegionTable& regions);
  Reply* new_reply(const wire::Packet& packet, ReplyKind kind, uint32_t psn_count);
  bool in_sequence(const wire::Packet& packet) const;
  RemoteUser user() const { return {core_.pd, core_.qpn}; }
  void note_established();
  void refuse_request(const RequestOutcome& outcome);
  void finish_message(const wire::Packet& packet, RegionTable& regions);
  void pull_read(Step& step, Reply& reply);
  void pull_atomic(Step& step, Reply& reply);
  void pull_empty(Step& step, Reply& reply);
  void trace_nak() const;
  void pull_answer(Step& step);

  // A cache line that each request touches, and one with what few do.
  QpCore& core_;
  Receiver& receiver_;
  Instant gap_deadline_ = kNever;  // a gap is reported then

  Psn expected_;
  uint32_t msn_ = 0;
  Answer answer_ = Answer::none;
  uint8_t ack_waited_ = 0;     // steps that the ACK which is due has been put off
  uint8_t syndrome_ = 0;       // of the NAK that is due
  bool gap_nak_sent_ = false;  // R1: once until the expected PSN arrives
  bool rnr_nak_sent_ = false;  // what is ahead of it is dropped without a word
  bool urgent_ = false;        // what is due had better leave before further packets are looked at
  bool established_ : 1 = false;   // the peer's first request has arrived
  bool follows_data_ : 1 = false;  // its turn before sent data of its own

  Open open_ = Open::nothing;
  WriteTarget write_;
  HeldPackets held_;
  ReplyQueue replies_;
};

}  // namespace roce
