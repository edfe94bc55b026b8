// TscClock: the CPU's time stamp counter as an Instant. A reading costs one rdtsc (about 18 ns in
// a virtual machine) and one multiplication: read it once per poll, not once per packet.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <x86intrin.h>

#include <cstdint>

#include "base/time.h"

namespace roce {

/// All clocks of one frequency in one process agree with each other: they share the counter's own
/// origin. Needs an invariant counter that runs alike on all cores, as every x86 server has.
class TscClock {
 public:
  /// `hz` is the counter's frequency, above 0. Set-up only: divides.
  explicit constexpr TscClock(uint64_t hz)
      : ns_per_tick_(((uint64_t{1'000'000'000} << kShift) + hz / 2) / hz) {}

  /// The frequency as EAL measured it. EAL must run.
  static TscClock from_eal();

  Instant now() const { return at(__rdtsc()); }

  /// The instant of a counter value, exact to 2^-32 of its nanoseconds per tick.
  constexpr Instant at(uint64_t ticks) const {
    return {static_cast<uint64_t>((static_cast<Wide>(ticks) * ns_per_tick_) >> kShift)};
  }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr unsigned kShift = 32;

  uint64_t ns_per_tick_;  // fixed point, kShift fraction bits
};

}  // namespace roce
