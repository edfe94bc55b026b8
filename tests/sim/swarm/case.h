// Case: a schedule to run: a seed, and how it departs from what the seed gives.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/swarm/options.h"
#include "sim/swarm/world.h"

namespace roce::swarm {

struct Case {
  uint64_t seed = 1;
  /// Faults whose share is set, by their place in kFaultNames.
  std::vector<std::pair<size_t, double>> faults;
  /// Events of the plan that happen, by their place in it; all, when empty.
  std::optional<std::vector<size_t>> kept;
  /// An event of this kind happens before the one of that place.
  std::optional<std::pair<Kind, size_t>> inserted;
  /// One RC connection, requests that packet scripts have words for, engines that never lag.
  bool simple = false;
};

Options options_of(const Case& c);
std::vector<Event> plan_of(const Case& c);

/// Runs it. Empty, or the violation.
std::string run_case(const Case& c, const Watch& watch = {}, Totals* totals = nullptr);

/// Arguments of uroce-sim that run it.
std::string arguments_of(const Case& c);

}  // namespace roce::swarm
