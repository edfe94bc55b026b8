// Batch: many schedules, in processes of their own, so that a crash is a finding like any other.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/swarm/case.h"

namespace roce::swarm {

struct BatchOptions {
  uint64_t first_seed = 1;
  uint64_t schedules = 1;
  uint32_t jobs = 1;      ///< processes
  uint32_t failures = 1;  ///< violations after which the batch ends
};

struct BatchResult {
  uint64_t schedules = 0;  ///< that have run
  uint64_t requests = 0;
  uint64_t packets = 0;
  std::vector<std::pair<uint64_t, std::string>> violations;  ///< seed, and what
};

/// Runs schedules first_seed, first_seed + 1, ... Each is `like` with another seed.
BatchResult run_batch(const BatchOptions& options, const Case& like);

/// Runs one in a process of its own. Empty, the violation, or "crashed with signal N".
std::string run_apart(const Case& c);

}  // namespace roce::swarm
