// FuzzClock: the time of a device that is fuzzed. It stands still until it is moved, and each input
// begins at a time that is, to timers, like any other's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <roce/verbs.h>

#include "base/time.h"

namespace roce::fuzz {

class FuzzClock final : public verbs::Clock {
 public:
  Instant now() override { return now_; }
  void move(Duration span) { now_ = now_ + span; }
  /// To the beginning of the next span of 69 s. By then everything that was waiting for time is
  /// over, and timers lie as they did at the beginning of the last one.
  void start_epoch() { now_ = Instant{((now_.ns >> kEpochShift) + 1) << kEpochShift}; }

 private:
  static constexpr unsigned kEpochShift = 36;

  Instant now_{1'000'000'000};
};

}  // namespace roce::fuzz
