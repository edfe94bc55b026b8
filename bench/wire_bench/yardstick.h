// Yardstick: runs the measurements of the wire bench: bare loops and uroce in turn, on the same
// ports, cores and frame sizes. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <roce/config.h>

#include "wire_bench/figures.h"
#include "wire_bench/process_pair.h"
#include "wire_bench/results.h"

namespace uroce::wire_bench {

struct Plan {
  roce::Duration measured;        ///< of each phase
  bool best_slices = false;       ///< 90th percentile of slices instead of their median
  std::vector<std::string> only;  ///< names of measurements; empty: all
};

class Yardstick {
 public:
  explicit Yardstick(const Plan& plan) : plan_(plan) {}

  /// Starts both ends and connects them. Requires a process with one thread.
  roce::Status start(const std::array<roce::Config, 2>& configs);

  /// One round: of each measurement the lost time, then each way. Their order changes from round to
  /// round, so that none always comes when the caches and the machine are in one state.
  roce::Status run_round(uint32_t round);

  /// After the last round.
  roce::Result<Results> results(std::string wire);

  uint32_t path_mtu() const { return path_mtu_; }

 private:
  roce::Result<std::array<EndAddress, 2>> open_both();
  roce::Status connect_both(const std::array<EndAddress, 2>& addresses);
  roce::Status measure_lost_time(Measurement& m);
  roce::Status run_phase(Measurement& m, Way way);

  Plan plan_;
  ProcessPair pair_;
  uint32_t path_mtu_ = 0;
  std::vector<Measurement> measurements_;
  uint64_t odd_frames_ = 0;
};

}  // namespace uroce::wire_bench
