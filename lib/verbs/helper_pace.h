// HelperPace: how long the helper of an assisted engine sleeps before it looks again whether the
// application still polls. A program that polls without a pause is looked at ever more rarely: each
// look wakes a thread, which took more than half of the throughput when it was done every 50 us.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>

#include "base/time.h"

namespace roce::verbs {

class HelperPace {
 public:
  static constexpr Duration kShortest = Duration::from_us(50);
  /// So long the peer of a program that has ceased to poll may wait for an answer.
  static constexpr Duration kLongest = Duration::from_ms(1);
  /// Time without a turn after which a program counts as one that pauses.
  static constexpr Duration kPause = Duration::from_us(200);

  /// The application has polled, so long after the turn before. Thread: the engine's.
  void note_poll(Duration since_last_turn) {
    polled_.store(true, std::memory_order_relaxed);
    if (since_last_turn > kPause) {
      paused_.store(true, std::memory_order_relaxed);
    }
  }

  /// How long to sleep; zero: nobody has polled since the last look. Thread: the helper.
  Duration nap() {
    if (!polled_.exchange(false, std::memory_order_relaxed)) {
      nap_ = kShortest;
      return {};
    }
    // One pause may be another program's doing, which had the CPU.
    const bool paused = paused_.exchange(false, std::memory_order_relaxed);
    nap_ = std::clamp(Duration::from_ns(paused ? nap_.ns / 2 : nap_.ns * 2), kShortest, kLongest);
    return nap_;
  }

 private:
  std::atomic<bool> polled_{false};
  std::atomic<bool> paused_{false};
  Duration nap_ = kShortest;  // the helper's
};

}  // namespace roce::verbs
