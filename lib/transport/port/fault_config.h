// FaultConfig: which faults a FaultyPort injects and how often, and the one-line text form of it
// that command lines, configuration files and test reports use.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace roce {

/// Probabilities are shares from 0 to 1. The defaults inject nothing.
struct FaultConfig {
  double loss = 0;          ///< share of frames lost, bursts counted in full
  uint32_t loss_burst = 1;  ///< frames lost in a row each time, at least 1
  double duplicate = 0;     ///< share of frames handed up twice
  double corrupt = 0;       ///< share of frames with 1..3 bits flipped, or cut short
  double reorder = 0;       ///< share of frames held back until later ones have passed
  double delay = 0;         ///< share of frames held back for a time
  Duration delay_min{};     ///< that time is drawn evenly from delay_min..delay_max
  Duration delay_max{};
  uint64_t seed = 1;  ///< same seed, same frames, same times: same faults
};

/// Longest delay that parse_faults() takes.
inline constexpr Duration kMaxFaultDelay = Duration::from_s(10);

/// Reads `key=value` pairs with commas between them, for example
/// "loss=1%,dup=0.5%,reorder=0.01,delay=20us,seed=7". The empty text injects nothing.
///
///   loss, dup, reorder, corrupt   share: 0%..100%, or 0..1
///   burst                         frames lost in a row: 1..1000000
///   delay                         time with unit ns, us or ms, up to 10000ms; MIN-MAX for a range
///   delay_share                   share of frames delayed, all of them unless given
///   seed                          0..2^64-1
///
/// Error EINVAL: an unknown or repeated key, or a value out of range; the reason names the key, the
/// value and what is allowed.
Result<FaultConfig> parse_faults(std::string_view text);

}  // namespace roce
