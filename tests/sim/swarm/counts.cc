// Running the schedules of the count table.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/swarm/counts.h"

#include <cstdio>

#include "sim/swarm/world.h"

namespace roce::swarm {
namespace {

constexpr double kLosses[] = {0, 0.001, 0.01, 0.05, 0.1};
constexpr uint64_t kSeeds = 4;

}  // namespace

std::string count_table() {
  std::string table =
      "# Conduct under loss: see docs/testing.md. Made by: build/bin/uroce-sim --counts\n"
      "# loss  seed  requests  packets  retransmitted  timeouts  naks  virtual_ms\n";
  for (const double loss : kLosses) {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Options options = counted_options(seed, loss);
      World world(options, draw_plan(options));
      const std::string violation = world.run();
      if (!violation.empty()) {
        return "seed " + std::to_string(seed) + ": " + violation + "\n";
      }
      const Totals& t = world.totals();
      char line[160];
      std::snprintf(line, sizeof line, "%6g %5lu %9lu %8lu %14lu %9lu %5lu %11.3f\n", loss, seed,
                    t.requests, t.packets, t.retransmitted, t.timeouts, t.naks,
                    static_cast<double>(t.took.ns) / 1e6);
      table += line;
    }
  }
  return table;
}

}  // namespace roce::swarm
