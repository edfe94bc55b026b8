// HelperPace: when the helper of an assisted engine leaves it to the application, and how long it
// sleeps then before it looks again. A program that polls without a pause is looked at ever more
// rarely: each look wakes a thread, which took more than half of the throughput when it was done
// every 50 us. One that is about to wait for an event wakes the helper.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <semaphore>

#include "base/time.h"

namespace roce::verbs {

class HelperPace {
 public:
  static constexpr Duration kShortest = Duration::from_us(50);
  /// So long the peer of a program that has ceased to poll may wait for an answer.
  static constexpr Duration kLongest = Duration::from_ms(1);
  /// Time without a turn after which a program counts as one that pauses.
  static constexpr Duration kPause = Duration::from_us(200);
  /// Who waits for events polls once more after arming, and some times after waking.
  static constexpr uint32_t kFewPolls = 16;

  /// The application has polled, so long after the turn before. Thread: the engine's.
  void note_poll(Duration since_last_turn) {
    const uint32_t polls = polls_since_wait_.load(std::memory_order_relaxed);
    if (polls < kFewPolls) {
      polls_since_wait_.store(polls + 1, std::memory_order_relaxed);
      return;
    }
    polled_.store(true, std::memory_order_relaxed);
    if (since_last_turn > kPause) {
      paused_.store(true, std::memory_order_relaxed);
    }
  }

  /// The application will not poll for a while. Thread: any.
  void note_wait() {
    polls_since_wait_.store(0, std::memory_order_relaxed);
    waits_ = true;
    if (asleep_.exchange(false)) {
      wake_.release();
    }
  }

  /// How long to sleep; zero: the engine is the helper's. Thread: the helper, as for sleep().
  Duration nap() {
    const bool polled = take(polled_);
    if (take(waits_) || !polled) {
      nap_ = kShortest;
      return {};
    }
    // One pause may be another program's doing, which had the CPU.
    const bool paused = take(paused_);
    nap_ = std::clamp(Duration::from_ns(paused ? nap_.ns / 2 : nap_.ns * 2), kShortest, kLongest);
    return nap_;
  }

  /// Returns early when the application is about to wait.
  void sleep(Duration time) {
    asleep_ = true;
    // Who notes a wait from here on sees a sleeper; who did so before is seen here.
    if (!waits_ && wake_.try_acquire_for(std::chrono::nanoseconds(time.ns))) {
      return;
    }
    if (!asleep_.exchange(false)) {
      wake_.acquire();  // it is on its way
    }
  }

 private:
  /// What it was; afterwards it is not set. Reads only, while it is not.
  static bool take(std::atomic<bool>& flag) { return flag && flag.exchange(false); }

  std::atomic<uint32_t> polls_since_wait_{0};
  std::atomic<bool> polled_{false};
  std::atomic<bool> paused_{false};
  std::atomic<bool> waits_{false};
  std::atomic<bool> asleep_{false};
  std::binary_semaphore wake_{0};
  Duration nap_ = kShortest;  // the helper's
};

}  // namespace roce::verbs
