// Completer: takes what the peer answers (ACKs, NAKs, READ and atomic responses) and what it does
// not answer (timeouts), retires send WQEs and writes their completions. Thread: the engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "base/drop_reason.h"
#include "cq/completion_queue.h"
#include "qp/core.h"
#include "qp/send_window.h"
#include "wire/packet.h"

namespace roce {

class Completer {
 public:
  /// `selective`: send again what the peer misses, not everything from there on, and early.
  Completer(QpCore& core, SendWindow& window, bool selective)
      : core_(core), window_(window), selective_(selective) {}

  void reset();

  /// Takes one response. Not `none`: it was dropped, for that reason.
  DropReason on_response(Instant now, const wire::Packet& packet, const RegionTable& regions);

  /// Looks at the clock: ends an RNR wait, or resends when the peer has been silent for too long.
  void on_timeout(Instant now);

  /// When on_timeout() has something to do; kNever when nothing is outstanding.
  Instant deadline() const;

  /// UC and UD: what has been sent is complete. RC: local requests whose turn has come are.
  void settle(Instant now);

  /// Fails the oldest send WQE: error completion, QP to ERR (spec/error-behaviour.md Q4..Q8), or,
  /// since UC and UD go on receiving, to SQE.
  void fail(CompletionStatus status, uint8_t vendor_error = 0);

  /// Completes up to `limit` posted send WQEs with a flush error; true when none is left.
  bool flush(uint32_t limit);

 private:
  DropReason take(Instant now, const wire::Packet& packet, const RegionTable& regions);
  DropReason on_acknowledge(Instant now, const wire::Packet& packet);
  DropReason on_nak(Instant now, Psn psn, uint8_t syndrome);
  DropReason on_read_response(Instant now, const wire::Packet& packet, const RegionTable& regions);
  DropReason on_atomic_response(Instant now, const wire::Packet& packet,
                                const RegionTable& regions);
  SendWqe* expect_response(Instant now, Psn psn, bool atomic);
  bool retire_before(Instant now, Psn psn);
  bool well_formed(const wire::Packet& packet, const SendWqe& wqe) const;
  bool well_formed_empty(const wire::Packet& packet) const;
  std::optional<CompletionStatus> place(const RegionTable& regions, const SendWqe& wqe,
                                        uint32_t offset, const uint8_t* data, uint32_t len) const;
  void implied_nak(Instant now);
  bool count_retry(PeerConduct heard);
  void retry(Instant now, PeerConduct heard);
  void repair(Instant now);
  void judge_peer(Instant now, Psn repaired, bool acknowledged);
  void go_back();
  void rewind();
  void end_repair(Instant now);
  void probe(Instant now);
  Instant probe_deadline() const;
  void note_progress(Instant now);
  void complete_oldest();
  void push(const SendWqe& wqe, CompletionStatus status, uint8_t vendor_error);

  QpCore& core_;
  SendWindow& window_;
  /// Whether the peer keeps what comes before something lost; learned from its answer to a repair.
  enum class Peer : uint8_t { unknown, keeps, drops };

  const bool selective_;
  Peer peer_ = Peer::unknown;
  uint8_t probes_ = 0;        // repairs since the last progress that silence alone was the cause of
  bool reported_ = false;     // the peer itself said that the packet under repair is missing
  uint8_t single_steps_ = 0;  // repairs in a row that moved the peer by just one packet
  uint8_t rewinds_ = 0;       // losses for which all was sent again, since the peer was last judged
  uint8_t retries_ = 0;       // used since the last progress
  uint8_t rnr_retries_ = 0;
  PeerConduct heard_ = PeerConduct::silent;  // with these retries
  bool gap_noted_ = false;  // an implied NAK has been acted on; no other until there is progress
};

}  // namespace roce
