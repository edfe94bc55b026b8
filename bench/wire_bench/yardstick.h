// Yardstick: the figures of the wire bench and the pairs of tasks that give them: bare loops and
// uroce in turn, on the same ports, cores and frame sizes. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <roce/config.h>

#include "wire_bench/messages.h"
#include "wire_bench/process_pair.h"
#include "wire_bench/results.h"

namespace uroce::wire_bench {

struct Plan {
  uint32_t rounds = 0;
  roce::Duration measured;        ///< of each phase
  bool best_slices = false;       ///< 90th percentile of slices instead of their median
  std::vector<std::string> only;  ///< identifiers of figures; empty: all
};

/// What a pair of tasks gives, times `scale`, is the figure.
struct Phase {
  Command passive;          ///< at a
  Command active;           ///< at b
  bool at_passive = false;  ///< whose value counts
  double scale = 1;
};

struct Figures {
  Figure figure;
  Phase raw;
  Phase uroce;
};

/// Identifiers of all figures.
std::vector<std::string> figure_ids();

class Yardstick {
 public:
  explicit Yardstick(const Plan& plan) : plan_(plan) {}

  /// Starts both ends and connects them. Requires a process with one thread.
  roce::Status start(const std::array<roce::Config, 2>& configs);

  /// One round: lost time, then each figure, raw and uroce. Their order changes from round to
  /// round, so that neither always comes when the caches and the machine are in one state.
  roce::Status run_round(uint32_t round);

  /// After the last round.
  roce::Result<Results> results(std::string wire);

  uint32_t path_mtu() const { return path_mtu_; }

 private:
  roce::Status measure_lost_time();
  roce::Status run_phase(Figures& f, bool raw);

  Plan plan_;
  ProcessPair pair_;
  uint32_t path_mtu_ = 0;
  std::vector<Figures> figures_;
  Results results_;
};

}  // namespace uroce::wire_bench
