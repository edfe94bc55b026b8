// HelperPace: when the helper of an assisted engine leaves it to the application, and how long it
// sleeps then before it looks again. A program that polls without a pause is looked at ever more
// rarely: each look wakes a thread, which took more than half of the throughput when it was done
// every 50 us. One that is about to wait for an event wakes the helper.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/time.h"

namespace roce::verbs {

class HelperPace {
 public:
  static constexpr Duration kShortest = Duration::from_us(50);
  /// So long the peer of a program that has ceased to poll may wait for an answer, and a little
  /// more, in which a poll still counts as just now.
  static constexpr Duration kLongest = Duration::from_ms(1);
  static constexpr Duration kJustNow = Duration::from_us(100);
  /// Time between polls after which a program counts as one that pauses.
  static constexpr Duration kPause = Duration::from_us(200);
  /// Who waits for events polls once more after arming, and some times after waking.
  static constexpr uint32_t kFewPolls = 16;

  /// The application polls. Thread: the engine's.
  void note_poll(Instant now) {
    const uint32_t polls = polls_since_wait_.load(std::memory_order_relaxed);
    if (polls < kFewPolls) {
      polls_since_wait_.store(polls + 1, std::memory_order_relaxed);
      return;
    }
    if (now - Instant{last_poll_.load(std::memory_order_relaxed)} > kPause) {
      paused_.store(true, std::memory_order_relaxed);
    }
    last_poll_.store(now.ns, std::memory_order_relaxed);
  }

  /// The application will not poll for a while. Thread: any.
  void note_wait() {
    polls_since_wait_.store(0, std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex_);
      waits_ = true;
    }
    woken_.notify_one();
  }

  /// How long to sleep; zero: the engine is the helper's. `clock` is only read after a poll.
  /// Thread: the helper, as for sleep().
  template <class Clock>
  Duration nap(Clock& clock) {
    const bool waits = take(waits_);
    const uint64_t poll = last_poll_.load(std::memory_order_relaxed);
    const bool polled = poll != seen_;
    seen_ = poll;
    if (waits || !polled || clock.now() - Instant{poll} > kJustNow) {
      next_nap_ = kShortest;
      return {};
    }
    // One pause may be another program's doing, which had the CPU.
    const Duration nap = next_nap_;
    next_nap_ =
        std::clamp(Duration::from_ns(take(paused_) ? nap.ns / 2 : nap.ns * 2), kShortest, kLongest);
    return nap;
  }

  /// True when it was ended by an application that is about to wait.
  bool sleep(Duration time) {
    std::unique_lock lock(mutex_);
    return woken_.wait_for(lock, std::chrono::nanoseconds(time.ns),
                           [this] { return waits_.load(); });
  }

 private:
  /// What it was; afterwards it is not set. Reads only, while it is not.
  static bool take(std::atomic<bool>& flag) { return flag && flag.exchange(false); }

  std::atomic<uint32_t> polls_since_wait_{0};
  std::atomic<uint64_t> last_poll_{0};
  std::atomic<bool> paused_{false};
  std::atomic<bool> waits_{false};  // set under the mutex
  std::mutex mutex_;
  std::condition_variable woken_;
  // The helper's.
  uint64_t seen_ = 0;
  Duration next_nap_ = kShortest;
};

}  // namespace roce::verbs
