// RoundTrip: how long the peer takes to answer, smoothed as TCP does it (RFC 6298), from one packet
// at a time. Tells how long silence has to last to mean that something was lost. Thread: the
// engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/psn.h"
#include "base/time.h"

namespace roce {

class RoundTrip {
 public:
  void reset() { *this = {}; }

  /// A packet that asks for an answer leaves for the first time.
  void start(Psn psn, Instant now) {
    if (!running_) {
      running_ = true;
      psn_ = psn;
      sent_ = now;
    }
  }
  /// Something was sent again: the answer to come could be to either (Karn's rule).
  void cancel() { running_ = false; }
  /// Everything before `una` is acknowledged.
  void acknowledged(Psn una, Instant now) {
    if (running_ && una.since(psn_) > 0) {
      running_ = false;
      usual_.add(now - sent_);
    }
  }
  /// A packet that was sent again has been answered so long after its first repair. That the answer
  /// may be to a later one does not matter: leaving those out, as Karn's rule has it, would leave
  /// out all slow answers. An estimate of their own, since a repair waits behind fewer packets.
  void add_repair(Duration took) { repair_.add(took); }

  /// Smoothed; 0 while nothing is known.
  Duration usual() const { return usual_.smoothed(); }
  /// An answer to anything that takes longer is not to come. A peer that has become slow shows in
  /// the repairs, since these are all that is measured once everything is asked for twice.
  Duration patience() const {
    if (!usual_.known() || !repair_.known()) {
      return usual_.known() ? usual_.patience() : repair_.patience();
    }
    return std::max(usual_.patience(), repair_.patience());
  }
  /// The same for a repair.
  Duration repair_patience() const {
    return repair_.known() ? repair_.patience() : usual_.patience();
  }

 private:
  class Estimate {
   public:
    bool known() const { return smoothed_ != 0; }
    Duration smoothed() const { return Duration::from_ns(smoothed_); }
    Duration patience() const {
      return !known() ? kUnknown
                      : Duration::from_ns(std::max<int64_t>(
                            kShortest, int64_t{smoothed_} * 2 + int64_t{variation_} * 2));
    }
    void add(Duration sample) {
      // One answer that was held up by something else does not spoil the estimate.
      const int64_t most = known() ? int64_t{smoothed_} * 2 : UINT32_MAX / 8;
      const auto ns = static_cast<uint32_t>(std::clamp<int64_t>(sample.ns, 1, most));
      if (!known()) {
        smoothed_ = ns;
        variation_ = ns / 2;
        return;
      }
      const uint32_t off = ns > smoothed_ ? ns - smoothed_ : smoothed_ - ns;
      variation_ = variation_ - variation_ / 4 + off / 4;
      smoothed_ = std::max(1u, smoothed_ - smoothed_ / 8 + ns / 8);
    }

   private:
    // ns; what takes less is as often a gap in which the peer's thread did not run.
    static constexpr int64_t kShortest = 20'000;
    static constexpr Duration kUnknown = Duration::from_ms(1);

    uint32_t smoothed_ = 0;   // ns
    uint32_t variation_ = 0;  // ns
  };

  Instant sent_;
  Psn psn_;
  bool running_ = false;
  Estimate usual_;
  Estimate repair_;
};

}  // namespace roce
