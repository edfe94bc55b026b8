// QpCore: what every part of a QP reads: who it is, its state, its attributes, the way to its peer.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/time.h"
#include "memory/region.h"
#include "qp/path.h"
#include "qp/rate_control.h"
#include "qp/state.h"
#include "wire/bth.h"

namespace roce {

class CompletionQueue;
class SharedReceiveQueue;

/// Attributes set by modify calls; the ranges have been checked there.
struct QpAttributes {
  uint8_t pmtu_shift = 10;         ///< path MTU is 2^pmtu_shift bytes: 8..12
  uint8_t timeout = 0;             ///< local ACK timeout code 0..31; 0: never
  uint8_t retry_cnt = 0;           ///< 0..7 retries after the first try
  uint8_t rnr_retry = 0;           ///< 0..6 retries after an RNR NAK; 7: for ever
  uint8_t min_rnr_timer = 0;       ///< code sent in RNR NAKs, 0..31
  uint8_t max_rd_atomic = 0;       ///< READs and atomics in flight as requester
  uint8_t max_dest_rd_atomic = 0;  ///< the same as responder
  Access access = Access::none;    ///< what peers may do through this QP
};

/// Things that have happened to a QP and that its owner reports as asynchronous events.
enum QpEvent : uint8_t {
  kEventRequestError = 1,    ///< IBV_EVENT_QP_REQ_ERR
  kEventAccessError = 2,     ///< IBV_EVENT_QP_ACCESS_ERR
  kEventFatal = 4,           ///< IBV_EVENT_QP_FATAL
  kEventDrained = 8,         ///< IBV_EVENT_SQ_DRAINED
  kEventEstablished = 16,    ///< IBV_EVENT_COMM_EST
  kEventSendCqOverrun = 32,  ///< IBV_EVENT_CQ_ERR on the send CQ
  kEventRecvCqOverrun = 64,  ///< IBV_EVENT_CQ_ERR on the receive CQ
  kEventLastWqe = 128,       ///< IBV_EVENT_QP_LAST_WQE_REACHED: no more of the shared queue's WQEs
};

struct QpCounters {
  uint64_t acks_sent = 0;          ///< first, since the others hardly ever count
  uint64_t retransmitted = 0;      ///< request packets sent again
  uint64_t timeouts = 0;           ///< local ACK timeouts
  uint64_t early_retransmits = 0;  ///< packets sent again since the peer was silent, long before
  uint64_t sequence_naks_rcvd = 0;
  uint64_t sequence_naks_sent = 0;
  uint64_t rnr_naks_rcvd = 0;
  uint64_t rnr_naks_sent = 0;
  uint64_t implied_naks = 0;  ///< READ or atomic responses found missing
  uint64_t duplicate_requests = 0;
  uint64_t retry_exceeded = 0;
  uint64_t rnr_retry_exceeded = 0;
  uint64_t cnps_sent = 0;
  uint64_t cnps_rcvd = 0;
};

/// What was heard of a peer between the last progress and the last retry; the most telling of it.
enum class PeerConduct : uint8_t {
  silent,
  drops,  ///< answers to later requests came, the one to the oldest did not
  naks,   ///< it said that packets are missing
};

/// Where sending stood when a request had used up its retries.
struct SendFailure {
  bool happened = false;
  uint8_t retries = 0;  ///< since the last progress
  PeerConduct peer = PeerConduct::silent;
  uint32_t last_sent = 0;          ///< PSN
  uint32_t last_acknowledged = 0;  ///< PSN; the one before the first if there is none
  Duration round_trip;             ///< smoothed; 0: none was measured
};

/// In the order in which the cache lines should be: see Qp.
struct QpCore {
  uint32_t qpn = 0;
  uint32_t pd = 0;
  uint32_t remote_qpn = 0;
  uint16_t pkey = wire::kDefaultPkey;
  QpType type = QpType::rc;
  /// Written by the engine's thread; the poster reads it to refuse early.
  std::atomic<QpState> state{QpState::reset};
  bool signal_all = false;      ///< every send WQE completes with a CQE (sq_sig_all)
  bool notify_drained = false;  ///< SQD was entered with a wish for kEventDrained
  bool fatal_told = false;      ///< kEventFatal has been raised since the last reset
  uint8_t events = 0;           ///< QpEvent bits not yet reported
  QpAttributes attr;
  /// Paces what is sent once the network is congested; nullptr: nothing does.
  std::unique_ptr<RateControl> rate;
  Path path;
  CompletionQueue* send_cq = nullptr;
  CompletionQueue* recv_cq = nullptr;
  SharedReceiveQueue* shared_receives = nullptr;  ///< nullptr: the QP has a queue of its own
  uint32_t qkey = 0;                              ///< UD: what a datagram must carry to be received
  bool cnp_due = false;                           ///< the peer is to be told of congestion
  bool paced = false;                             ///< the last Qp::pull() ended for want of time
  bool last_wqe_told = false;  ///< kEventLastWqe has been raised since the last reset
  QpCounters counters;
  SendFailure failure;

  QpState now_in() const { return state.load(std::memory_order_relaxed); }
  void enter(QpState s);
  /// A completion found no room in the queue that `overrun` names: the QP is in error from here on,
  /// if it was not before, and kEventFatal is told once.
  void lose_completion(QpEvent overrun);
  uint32_t pmtu() const { return 1u << attr.pmtu_shift; }
  /// Nothing asks for a pause before the next packet with data.
  bool pace_allows(Instant now) const { return rate == nullptr || rate->may_send(now); }
  /// A packet of `bytes` leaves.
  void charge(Instant now, uint32_t bytes) {
    if (rate != nullptr) [[unlikely]] {
      rate->on_sent(now, bytes);
    }
  }
};

}  // namespace roce
