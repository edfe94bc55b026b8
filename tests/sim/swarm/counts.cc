// Running the schedules of the count table.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/swarm/counts.h"

#include <cstdio>

#include "sim/swarm/world.h"

namespace roce::swarm {
namespace {

constexpr double kLosses[] = {0, 0.001, 0.01, 0.05, 0.1};
constexpr uint64_t kSeeds = 4;
constexpr size_t kHeld[] = {0, 512};  // go-back-N, selective

/// A line of the table; or what was wrong.
std::string count(size_t held, double loss, uint64_t seed) {
  const Options options = counted_options(seed, loss, held);
  World world(options, draw_plan(options));
  const std::string violation = world.run();
  if (!violation.empty()) {
    return "seed " + std::to_string(seed) + ": " + violation + "\n";
  }
  const Totals& t = world.totals();
  char line[160];
  std::snprintf(line, sizeof line, "%6zu %6g %5lu %9lu %8lu %14lu %9lu %5lu %11.3f\n", held, loss,
                seed, t.requests, t.packets, t.retransmitted, t.timeouts, t.naks,
                static_cast<double>(t.took.ns) / 1e6);
  return line;
}

}  // namespace

std::string count_table() {
  std::string table =
      "# Conduct under loss: see docs/testing.md. Made by: build/bin/uroce-sim --counts\n"
      "# kept   loss  seed  requests  packets  retransmitted  timeouts  naks  virtual_ms\n";
  for (const size_t held : kHeld) {
    for (const double loss : kLosses) {
      for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
        table += count(held, loss, seed);
      }
    }
  }
  return table;
}

}  // namespace roce::swarm
