// SendWindow: the one thing that requester and completer share. The requester moves `next` forward,
// the completer moves `una` forward or rewinds `next` to it:
//
//        una <= next <= high <= end        (distances from una, modulo 2^24)
//
// una: oldest unacknowledged PSN. next: PSN to be sent next. high: one past the highest PSN ever
// sent, so that an ACK for an original is still believed after a rewind. end: one past the last PSN
// given to a WQE. WQEs are counted from the oldest one in the send queue.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/psn.h"
#include "base/time.h"
#include "qp/work_queue.h"

namespace roce {

class SendWindow {
 public:
  explicit SendWindow(SendQueue& queue) : queue_(queue) {}

  /// Starts afresh at `start`; the queue must be empty.
  void reset(Psn start) {
    una_ = next_ = high_ = end_ = start;
    next_index_ = admitted_ = reads_admitted_ = reads_in_flight_ = 0;
    hold_until_ = {};
  }

  Psn una() const { return una_; }
  Psn next() const { return next_; }
  Psn end() const { return end_; }
  /// PSNs sent and not acknowledged.
  uint32_t in_flight() const { return distance(una_, next_); }
  /// True for a PSN that was sent at some time and is not acknowledged.
  bool outstanding(Psn psn) const { return distance(una_, psn) < distance(una_, high_); }
  bool anything_outstanding() const { return una_ != high_; }
  /// Everything admitted is acknowledged.
  bool drained() const { return una_ == end_; }
  /// The packet at next() has been sent before.
  bool resending() const { return next_ != high_; }
  uint32_t reads_in_flight() const { return reads_in_flight_; }
  uint32_t reads_admitted() const { return reads_admitted_; }
  /// WQEs before the one that next() belongs to.
  uint32_t next_index() const { return next_index_; }

  // --- for the requester

  /// The WQE that next() belongs to; nullptr when all admitted ones have been sent.
  SendWqe* current() { return next_index_ < admitted_ ? &queue_.at(next_index_) : nullptr; }
  /// The oldest WQE that has no PSNs yet, or nullptr.
  SendWqe* candidate() { return queue_.has(admitted_) ? &queue_.at(admitted_) : nullptr; }
  /// Gives the candidate its PSNs; none for a local request.
  void admit(uint32_t psn_count) {
    SendWqe& wqe = queue_.at(admitted_);
    wqe.first_psn = end_;
    wqe.psn_count = psn_count;
    end_ = end_ + psn_count;
    ++admitted_;
    reads_admitted_ += is_read_or_atomic(wqe.opcode) ? 1 : 0;
  }
  /// Notes that the PSNs from next() up to `psn` of the current WQE were sent.
  void sent_up_to(Psn psn) {
    const SendWqe& wqe = queue_.at(next_index_);
    if (distance(una_, psn) > distance(una_, high_)) {
      high_ = psn;
    }
    next_ = psn;
    if (psn == wqe.end_psn()) {
      ++next_index_;
      reads_in_flight_ += is_read_or_atomic(wqe.opcode) ? 1 : 0;
    }
    check();
  }

  // --- for the completer

  /// The oldest unretired WQE that has PSNs, or nullptr.
  SendWqe* oldest() { return admitted_ > 0 ? &queue_.at(0) : nullptr; }
  /// The oldest WQE takes no PSNs and has been passed by next().
  bool oldest_is_done_locally() { return next_index_ > 0 && queue_.at(0).psn_count == 0; }
  /// Acknowledges the PSNs before `psn`, all within the oldest WQE, not its last.
  void acknowledge_up_to(Psn psn) {
    if (distance(una_, next_) < distance(una_, psn)) {
      next_ = psn;
    }
    una_ = psn;
    check();
  }
  /// Acknowledges the rest of the oldest WQE and gives its slot back.
  void retire_oldest() {
    const SendWqe& wqe = queue_.at(0);
    const bool read = is_read_or_atomic(wqe.opcode);
    const Psn behind = wqe.end_psn();
    if (next_index_ > 0) {
      --next_index_;
      reads_in_flight_ -= read ? 1 : 0;
    } else {
      next_ = behind;
    }
    if (distance(una_, high_) < distance(una_, behind)) {
      high_ = behind;  // failed before all of it was sent
    }
    una_ = behind;
    --admitted_;
    reads_admitted_ -= read ? 1 : 0;
    queue_.release();
    check();
  }
  /// Goes back to the oldest unacknowledged PSN.
  void rewind() {
    next_ = una_;
    next_index_ = 0;
    reads_in_flight_ = 0;
  }

  // --- timers of the send side

  /// Nothing may be sent before this time (RNR wait); past or zero: no wait.
  Instant hold_until() const { return hold_until_; }
  void set_hold(Instant until) { hold_until_ = until; }
  /// When the retransmission timer was last started.
  Instant timer_base() const { return timer_base_; }
  void restart_timer(Instant now) { timer_base_ = now; }

 private:
  static uint32_t distance(Psn from, Psn to) { return (to.value() - from.value()) & Psn::kMask; }

  void check() const {
    ROCE_DCHECK(distance(una_, next_) <= distance(una_, high_) &&
                distance(una_, high_) <= distance(una_, end_));
    ROCE_DCHECK(next_index_ <= admitted_ && reads_in_flight_ <= reads_admitted_);
  }

  SendQueue& queue_;
  Psn una_;
  Psn next_;
  Psn high_;
  Psn end_;
  uint32_t next_index_ = 0;
  uint32_t admitted_ = 0;
  uint32_t reads_admitted_ = 0;
  uint32_t reads_in_flight_ = 0;
  Instant hold_until_;
  Instant timer_base_;
};

}  // namespace roce
