// SendWindow: the one thing that requester and completer share. The requester moves `next` forward,
// the completer moves `una` forward or rewinds `next` to it:
//
//        una <= next <= high <= end        (distances from una, modulo 2^24)
//
// una: oldest unacknowledged PSN. next: PSN to be sent next. high: one past the highest PSN ever
// sent, so that an ACK for an original is still believed after a rewind. end: one past the last PSN
// given to a WQE. WQEs are counted from the oldest one in the send queue.
//
// How many PSNs may be under way is the configured number, and less for a peer that keeps nothing
// behind a loss: all that was under way there is lost with it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/check.h"
#include "base/limits.h"
#include "base/psn.h"
#include "base/time.h"
#include "qp/round_trip.h"
#include "qp/work_queue.h"

namespace roce {

class SendWindow {
 public:
  /// `packets`: PSNs that may be unacknowledged, 1..2^22.
  SendWindow(SendQueue& queue, uint32_t packets)
      : queue_(queue), limit_(packets), packets_(packets) {}

  /// Starts afresh at `start`; the queue must be empty.
  void reset(Psn start) {
    una_ = next_ = high_ = end_ = start;
    next_index_ = admitted_ = reads_admitted_ = reads_in_flight_ = 0;
    hold_until_ = {};
    end_repair();
    round_trip_.reset();
    set_limit(packets_);
  }

  SendQueue& queue() const { return queue_; }
  Psn una() const { return una_; }
  Psn next() const { return next_; }
  Psn high() const { return high_; }
  Psn end() const { return end_; }
  static uint32_t distance(Psn from, Psn to) { return (to.value() - from.value()) & Psn::kMask; }

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

  /// Another PSN may be sent. While a packet is missing, nothing behind it is acknowledged: a peer
  /// that keeps that gets twice as much, but not more than a QP keeps.
  bool has_room() const {
    return in_flight() < (repairing() ? std::max(limit_, std::min(2 * limit_, kMaxHeld)) : limit_);
  }
  /// How many packets leave together at most: few while the next step depends on the peer's answer.
  size_t packets_at_once() const {
    return repairing() || limit_ < packets_ ? kFewAtOnce : std::numeric_limits<uint32_t>::max();
  }
  /// An ACK is to be asked for with this PSN, so that the window never waits for one nobody asked
  /// for.
  bool wants_ack(Psn psn) const {
    const uint32_t mask = std::bit_floor(std::max(limit_ / 4, 1u)) - 1;
    return (psn.value() & mask) == mask || in_flight() + 1 == limit_;
  }
  /// Nothing is left to be sent, of what has been posted.
  bool all_sent() const { return next_ == end_ && !queue_.has(admitted_); }
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
  /// The oldest WQE takes no PSNs and has been carried out. That lasts, though a rewind takes
  /// next() back to it.
  bool oldest_is_done_locally() {
    return admitted_ > 0 && queue_.at(0).psn_count == 0 && queue_.at(0).executed;
  }
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
    end_repair();
    round_trip_.cancel();
  }

  // --- how much may be under way, when the peer keeps nothing

  /// A loss has cost all that was under way behind it.
  void narrow() { set_limit(std::max(limit_ / 2, std::min(packets_, kNarrowest))); }
  /// `acknowledged` PSNs arrived.
  void widen(uint32_t acknowledged) {
    if (limit_ == packets_) [[likely]] {
      return;
    }
    arrived_ += acknowledged;
    if (arrived_ >= limit_) {
      set_limit(limit_ + 1);
    }
  }
  /// The peer keeps what comes behind a loss.
  void open_fully() { set_limit(packets_); }

  // --- repair: the packet at una() alone is sent again, in front of what is next

  enum class Repair : uint8_t { none, due, sent };

  /// `alone`: nothing new is sent until the peer has answered.
  void ask_repair(bool alone) {
    if (next_ != una_) {
      if (!repairing() || repair_psn_ != una_) {
        repair_since_ = {};
        repair_tries_ = 0;
      }
      repair_ = Repair::due;
      repair_psn_ = una_;
      repair_end_ = next_;
      repair_alone_ = alone;
      round_trip_.cancel();
    }
  }
  bool repair_due() const { return repair_ == Repair::due; }
  bool repairing() const { return repair_ != Repair::none; }
  Psn repair_psn() const { return repair_psn_; }
  /// How often the packet has been sent as a repair; 3: three times or more.
  uint8_t repair_tries() const { return repair_tries_; }
  bool waits_for_repair() const { return repairing() && repair_alone_; }
  /// What was to be sent next when the repair was asked for.
  Psn repair_end() const { return repair_end_; }
  void repair_sent(Instant now) {
    repair_ = Repair::sent;
    repair_tries_ = static_cast<uint8_t>(std::min<int>(repair_tries_, 2) + 1);
    silent_since_ = now;
    if (repair_since_ == Instant{}) {
      repair_since_ = now;
    }
  }
  /// The peer has answered; the time since the repair left for the first time, 0 when it is yet to.
  Duration repair_answered(Instant now) {
    Duration took;
    if (repair_ == Repair::sent) {
      took = now - repair_since_;
      round_trip_.add_repair(took);
    }
    end_repair();
    return took;
  }
  void end_repair() { repair_ = Repair::none; }

  // --- timers of the send side

  /// Nothing may be sent before this time (RNR wait); past or zero: no wait.
  Instant hold_until() const { return hold_until_; }
  void set_hold(Instant until) { hold_until_ = until; }
  /// When the retransmission timer was last started.
  Instant timer_base() const { return timer_base_; }
  void restart_timer(Instant now) { timer_base_ = silent_since_ = now; }
  /// When the peer last answered, or was last given cause to.
  Instant silent_since() const { return silent_since_; }
  void set_silent_since(Instant now) { silent_since_ = now; }
  RoundTrip& round_trip() { return round_trip_; }
  const RoundTrip& round_trip() const { return round_trip_; }

 private:
  static constexpr uint32_t kNarrowest = 16;
  static constexpr size_t kFewAtOnce = 4;

  void set_limit(uint32_t limit) {
    limit_ = limit;
    arrived_ = 0;
  }

  void check() const {
    ROCE_DCHECK(distance(una_, next_) <= distance(una_, high_) &&
                distance(una_, high_) <= distance(una_, end_));
    ROCE_DCHECK(next_index_ <= admitted_ && reads_in_flight_ <= reads_admitted_);
  }

  // Two cache lines; in the first what each request and each ACK touches.
  SendQueue& queue_;
  uint32_t limit_;
  const uint32_t packets_;
  Psn una_;
  Psn next_;
  Psn high_;
  Psn end_;
  uint32_t next_index_ = 0;
  uint32_t admitted_ = 0;
  uint32_t reads_admitted_ = 0;
  uint32_t reads_in_flight_ = 0;
  Instant timer_base_;
  Instant silent_since_;
  RoundTrip round_trip_;
  Instant hold_until_;
  Instant repair_since_;
  Psn repair_psn_;
  Psn repair_end_;
  uint32_t arrived_ = 0;  // since the limit was last changed, while it is below packets_
  Repair repair_ = Repair::none;
  uint8_t repair_tries_ = 0;
  bool repair_alone_ = false;
};

}  // namespace roce
