// What uroce-top shows of one process: two samples become rates.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "client.h"

namespace uroce::top {

/// All that is asked at one moment.
// NOLINTNEXTLINE(bugprone-exception-escape): moving a Json does not throw
struct Sample {
  Json device;
  Json port;
  Json counters;
  Json drops;
  std::vector<Json> lcores;
  std::vector<Json> qps;
  size_t all_qps = 0;  ///< there may be more than are asked about
};

/// Asks about at most `most_qps` queue pairs.
roce::Result<Sample> take_sample(Client& client, size_t most_qps);

/// Lines for `now`; rates are those since `before`, and 0 when that is empty.
std::string show(const Client& client, const Sample& now, const Sample& before);

}  // namespace uroce::top
