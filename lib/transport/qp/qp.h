// Qp: one queue pair: its attributes, its queues and its halves. Nothing clever: it hands input to
// the half that it is for, asks the halves for output, and flushes the queues once it is in error.
// What differs between RC, UC and UD is in the halves; here is only the choice of them. Thread: the
// engine's, but for the posting side of the queues and state().
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "cq/completion_queue.h"
#include "qp/completer.h"
#include "qp/core.h"
#include "qp/receiver.h"
#include "qp/requester.h"
#include "qp/responder.h"
#include "qp/send_window.h"
#include "qp/shared_receive_queue.h"
#include "qp/uc_responder.h"
#include "qp/ud_responder.h"
#include "qp/work_queue.h"

namespace roce {

/// What a QP is created with; checked by the caller.
struct QpSpec {
  QpType type = QpType::rc;
  uint32_t pd = 0;
  CompletionQueue* send_cq = nullptr;  ///< must outlive the QP, as must recv_cq
  CompletionQueue* recv_cq = nullptr;
  SharedReceiveQueue* shared_receives = nullptr;  ///< instead of an own queue; must outlive the QP
  uint32_t send_entries = 1;
  uint32_t recv_entries = 1;
  uint32_t max_send_sge = 1;
  uint32_t max_recv_sge = 1;
  uint32_t max_inline = 0;  ///< bytes
  bool signal_all = false;
  uint32_t window_packets = 256;
  /// Where requests wait that come before an earlier one; must outlive the QP. nullptr: go-back-N
  /// on both sides, and no packet is sent again before a NAK or the ACK timeout.
  HoldingPool* holding = nullptr;
  double line_rate = 0;  ///< bytes a second; above 0: DCQCN slows the QP down when it is congested
};

class Qp;

/// What a turn of a QP is for. The half to which nothing has happened since its last turn is left
/// alone, and its cache lines where they are: with thousands of QPs those come from memory.
enum QpWork : uint8_t {
  kSendWork = 1,     ///< something was posted, a response came, or the port had no room
  kReceiveWork = 2,  ///< a request came, or responses are due
  kAnyWork = kSendWork | kReceiveWork,  ///< its state, an attribute or the time has changed
};

/// What a packet is to the QP that it is for.
inline QpWork work_of(const wire::OpcodeInfo& info) {
  return info.verb == wire::Verb::response ? kSendWork : kReceiveWork;
}

/// Where a QP stands in its engine's lists. The engine's and nobody else's.
struct QpSchedule {
  uint32_t id = 0;            ///< dense; names the QP's timer
  uint32_t place = 0;         ///< in the list of QPs to serve
  Instant timer = kNever;     ///< when its timer is armed to fire; not later than deadline()
  bool active = false;        ///< it is in there
  uint8_t work = 0;           ///< QpWork bits: what for
  bool failure_told = false;  ///< the port knows of its failure, or there was none
};

/// The QP's doorbell, which any thread may ring.
struct QpBell {
  Qp* next_rung = nullptr;
  std::atomic<bool> rung{false};  ///< it has not been answered yet
};

class Qp {
 public:
  Qp(uint32_t qpn, const QpSpec& spec);
  Qp(const Qp&) = delete;
  Qp& operator=(const Qp&) = delete;

  uint32_t qpn() const { return core_.qpn; }
  QpType type() const { return core_.type; }
  /// Thread: any.
  QpState state() const { return core_.state.load(std::memory_order_acquire); }
  QpCore& core() { return core_; }
  const QpCore& core() const { return core_; }
  CompletionQueue& send_cq() { return *core_.send_cq; }
  CompletionQueue& recv_cq() { return *core_.recv_cq; }
  SendQueue& send_queue() { return send_queue_; }
  RecvQueue& recv_queue() { return recv_queue_; }
  /// nullptr: the QP receives into a queue of its own.
  SharedReceiveQueue* shared_receives() const { return core_.shared_receives; }

  // --- state moves; the transition has been checked

  /// Back to the beginning: both queues are emptied without completions.
  void reset();
  /// Ready to receive: the attributes and the path are set, `expected` is the peer's first PSN.
  void start_receiving(Psn expected);
  /// Ready to send, from PSN `first` on.
  void start_sending(Psn first);
  /// The application gave up the QP: everything posted is flushed, nothing is answered any more.
  void enter_error();
  void enter(QpState state) { core_.enter(state); }
  /// Attributes were changed in SQD.
  void attributes_changed() { responder_.resize_replies(); }

  // --- what the engine calls

  /// Asks for the cache lines that a packet for this QP, or its turn, will touch, for `work`
  /// (QpWork bits); then, when those have come, for the WQEs that they lead to.
  void prefetch(uint8_t work) const;
  void prefetch_wqes(uint8_t work) const {
    if ((work & kSendWork) != 0) {
      send_queue_.prefetch_front();
    }
    if ((work & kReceiveWork) != 0) {
      recv_queue_.prefetch_front();
    }
  }
  /// Takes a packet for this QP. Not `none`: it was dropped, for that reason.
  DropReason on_packet(Instant now, const wire::Packet& packet, RegionTable& regions);
  /// A packet for this QP was marked "congestion experienced": its sender is told, but not for
  /// each (spec/protocol-and-verbs.md 5.5). Nothing happens for UD, which has no sender to name.
  void on_congestion(Instant now);
  /// The peer tells that what this QP sends meets congestion.
  void on_cnp(Instant now);
  /// Looks at the clock.
  void on_timeout(Instant now);
  /// When on_timeout() has something to do, as far as `work`, a set of QpWork bits, may have
  /// changed it; kNever if nothing waits for time.
  Instant deadline(uint8_t work = kAnyWork) const {
    Instant at = core_.paced ? core_.rate->next() : kNever;
    if ((work & kSendWork) != 0) {
      at = std::min(at, completer_.deadline());
    }
    return (work & kReceiveWork) != 0 ? std::min(at, responder_.deadline()) : at;
  }
  /// Builds packets, responses first. `work`: a set of QpWork bits.
  void pull(Step& step, uint8_t work);
  /// Something is left to be sent in the next turn, whatever else happens. A turn without
  /// kReceiveWork leaves nothing, unless its step was full.
  bool wants_turn() const { return responder_.wants_tx() || core_.cnp_due; }
  /// The peer may wait for an acknowledgement, should the last one be lost.
  bool owes_acknowledgement() const {
    return core_.type == QpType::rc && can_receive_requests(core_.now_in()) &&
           responder_.established();
  }
  /// What the peer is owed had better leave before further packets are looked at.
  bool answers_at_once() const { return responder_.answers_at_once(); }
  Psn last_executed() const { return responder_.last_executed(); }
  uint32_t executed_messages() const { return responder_.executed_messages(); }
  /// The next pull() builds what the peer is owed, an ACK that waits for company included.
  void hurry() { responder_.hurry(); }
  /// Some of what pull() builds may be for this node itself.
  bool may_loop_back() const {
    return core_.type == QpType::ud || core_.path.destination() == Path::Destination::local;
  }
  /// In error: completes up to `limit` WQEs of each queue with a flush error (in SQE: of the send
  /// queue). True when nothing of that is left to be done.
  bool flush(uint32_t limit);

  /// Nothing that has been started waits for an acknowledgement. Thread: the engine's; elsewhere a
  /// snapshot.
  bool drained() const { return window_.drained(); }

  /// Thread: the engine's.
  const SendWindow& send_window() const { return window_; }

  // The order of the members is that of cache lines (tests/qp/footprint_test.cc): a request that is
  // sent and acknowledged touches the first three, those of the send queue, and three more; one
  // that is received the first three, two of the responder and, for its counter, one more.
  QpSchedule schedule;

 private:
  DropReason on_request(Instant now, const wire::Packet& packet, RegionTable& regions);
  bool flush_receives(uint32_t limit);
  void send_cnp(Step& step);
  void note_drained();

  QpCore core_;
  Instant next_cnp_;  // none before

 public:
  QpBell bell;

 private:
  SendQueue send_queue_;
  SendWindow window_;
  Requester requester_;
  Completer completer_;
  Responder responder_;  // of RC
  Receiver receiver_;
  UcResponder uc_responder_;
  UdResponder ud_responder_;
  RecvQueue recv_queue_;
};

}  // namespace roce
