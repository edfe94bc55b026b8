// The figures of the wire bench: the pairs of tasks that give each, and what it has to reach.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <roce/config.h>

#include "wire_bench/messages.h"
#include "wire_bench/results.h"

namespace uroce::wire_bench {

/// What a pair of tasks gives, times `scale`, is the figure.
struct Phase {
  Command passive;
  Command active;
  roce::Side active_side = roce::Side::b;
  bool at_passive = false;  ///< whose value counts
  double scale = 1;
};

struct Measurement {
  Figure figure;
  std::optional<Figure> tail;              ///< 99th percentiles of the same tasks
  std::array<Phase, kWays.size()> phases;  ///< by Way
};

/// What the figures depend on.
struct Wire {
  roce::PortKind kind = roce::PortKind::virtio_user;
  bool packed = true;  ///< its ring, if it has one
  bool ipv4 = true;
  uint32_t path_mtu = 4096;
};

/// Names of all measurements: "W64".
std::vector<std::string> measurement_names();

/// All of them, each phase of `measured` length.
std::vector<Measurement> all_measurements(const Wire& wire, roce::Duration measured,
                                          bool best_slices);

}  // namespace uroce::wire_bench
