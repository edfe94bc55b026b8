// What the completer does about losses: the missing packet again, or everything from it on, after a
// NAK, after silence, after the ACK timeout (docs/rules.md Q3, Q4, Q12, Q13).
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>

#include "base/trace.h"
#include "qp/completer.h"
#include "wire/syndrome.h"

namespace roce {
namespace {

/// While there is more to send, the peer reports a loss itself, but not before it has waited for
/// late packets (qp/responder_gaps.cc).
constexpr Duration kStall = Duration::from_us(100);
/// Repairs that silence may cause before only the ACK timeout is left; each waits twice as long.
constexpr uint8_t kMostProbes = 6;
/// Probes in a row that move the peer by one packet only; once is no proof, the probe may have come
/// for nothing.
constexpr uint8_t kProbesBeforeGoingBack = 2;
/// NAKs in a row that move the peer by one packet only, before it is put on trial again.
constexpr uint8_t kNaksBeforeDoubt = 4;
/// A peer that drops what comes too early is asked anew after so many losses.
constexpr uint8_t kRewindsBeforeDoubt = 32;

}  // namespace

/// A later response or ACK shows that a READ or atomic response was lost: resend from what is
/// missing.
void Completer::implied_nak(Instant now) {
  if (gap_noted_) {
    return;
  }
  gap_noted_ = true;
  ++core_.counters.implied_naks;
  retry(now, PeerConduct::drops);
}

/// False when the retries are used up: the QP has failed. `heard`: what this retry is the answer
/// to.
bool Completer::count_retry(PeerConduct heard) {
  heard_ = retries_ == 0 ? heard : std::max(heard_, heard);
  if (retries_ >= core_.attr.retry_cnt) {
    core_.failure = {.happened = true,
                     .retries = retries_,
                     .peer = heard_,
                     .last_sent = (window_.high() - 1).value(),
                     .last_acknowledged = (window_.una() - 1).value(),
                     .round_trip = window_.round_trip().usual()};
    ++core_.counters.retry_exceeded;
    fail(CompletionStatus::retry_exceeded);
    return false;
  }
  ++retries_;
  return true;
}

/// Everything from the oldest unacknowledged packet on is sent again.
void Completer::retry(Instant now, PeerConduct heard) {
  if (count_retry(heard)) {
    rewind();
    window_.restart_timer(now);
  }
}

/// The peer misses the oldest unacknowledged packet and has got a later one.
void Completer::repair(Instant now) {
  if (!selective_ || peer_ == Peer::drops) {
    if (++rewinds_ == kRewindsBeforeDoubt) {
      rewinds_ = 0;
      peer_ = Peer::unknown;
    }
    window_.narrow();
    retry(now, PeerConduct::naks);
    return;
  }
  if (window_.repairing() && window_.repair_psn() == window_.una()) {
    reported_ = true;
    return;  // a duplicate of a NAK that has been acted on
  }
  if (count_retry(PeerConduct::naks)) {
    reported_ = true;
    window_.ask_repair(peer_ == Peer::unknown);
    window_.restart_timer(now);
  }
}

/// The repair of `repaired` has been answered, by an ACK or by the NAK for another gap. If nothing
/// beyond it is acknowledged, nothing beyond it was kept: all of that has to be sent again.
void Completer::judge_peer(Instant now, Psn repaired, bool acknowledged) {
  const bool on_trial = window_.waits_for_repair();
  const bool repeated = window_.repair_tries() > 1;
  const bool reported = std::exchange(reported_, false);
  end_repair(now);
  if (window_.una() != repaired + 1) {
    single_steps_ = 0;
    if (reported) {  // else nothing may have been missing
      peer_ = Peer::keeps;
      window_.open_fully();
    }
    if (acknowledged && repeated && window_.una() != window_.repair_end()) {
      // The answer to the first repair was lost, and it was the NAK for the next gap: a peer says
      // that only once.
      window_.ask_repair(false);
    }
    return;
  }
  if (window_.una() == window_.repair_end()) {
    return;
  }
  ++single_steps_;
  if (acknowledged && reported && !repeated) {
    peer_ = Peer::drops;  // it had got a later packet, and now says that it has none
    go_back();
  } else if (on_trial || (acknowledged && single_steps_ >= kProbesBeforeGoingBack)) {
    go_back();
  } else if (single_steps_ >= kNaksBeforeDoubt) {
    single_steps_ = 0;
    peer_ = Peer::unknown;
  }
}

void Completer::go_back() {
  single_steps_ = 0;
  if (peer_ == Peer::drops) {
    window_.narrow();
  }
  rewind();
}

void Completer::rewind() {
  trace::rewind(core_.qpn, window_.una().value(), window_.in_flight());
  window_.rewind();
}

/// The repair has been answered.
void Completer::end_repair(Instant now) {
  const Psn psn = window_.repair_psn();
  const Duration took = window_.repair_answered(now);
  trace::repaired(core_.qpn, psn.value(), took.ns);
}

/// Silence: the last packets, their ACK, or a repair may have been lost. One packet makes the peer
/// say what it has.
void Completer::probe(Instant now) {
  ++probes_;
  ++core_.counters.early_retransmits;
  trace::probe(core_.qpn, window_.una().value(), probes_);
  reported_ = reported_ && window_.repairing();
  window_.ask_repair(window_.waits_for_repair());
  window_.set_silent_since(now);
}

void Completer::note_progress(Instant now) {
  retries_ = rnr_retries_ = probes_ = 0;
  gap_noted_ = false;
  window_.set_hold({});
  window_.restart_timer(now);
}

Instant Completer::deadline() const {
  if (!can_receive_responses(core_.now_in())) {
    return kNever;
  }
  if (window_.hold_until() != Instant{}) {
    return window_.hold_until();
  }
  // Also after a rewind that could not be sent yet: the port may have died.
  if (core_.attr.timeout == 0 || !window_.anything_outstanding()) {
    return kNever;
  }
  return std::min(window_.timer_base() + wire::ack_timeout(core_.attr.timeout), probe_deadline());
}

Instant Completer::probe_deadline() const {
  const RoundTrip& trip = window_.round_trip();
  if (!selective_ || probes_ >= kMostProbes || window_.in_flight() == 0) {
    return kNever;
  }
  Duration patience = trip.patience();
  if (window_.repairing()) {
    patience = trip.repair_patience();
  } else if (!window_.all_sent()) {
    patience = patience * 2 + kStall;
  }
  return window_.silent_since() + patience * (1 << probes_);
}

void Completer::on_timeout(Instant now) {
  if (now < deadline()) {
    return;
  }
  if (window_.hold_until() != Instant{}) {
    window_.set_hold({});
    return;
  }
  if (now >= probe_deadline()) {
    probe(now);
    return;
  }
  ++core_.counters.timeouts;
  trace::timeout(core_.qpn, window_.una().value(), retries_);
  gap_noted_ = false;
  retry(now, PeerConduct::silent);
}

}  // namespace roce
