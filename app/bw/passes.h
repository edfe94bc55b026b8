// Passes: the runs of one call of uroce-bw: a warm-up, and one for each size. Both ends derive the
// same ones from what they agreed on. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <vector>

#include "options.h"

namespace uroce::bw {

struct Pass {
  Options options;
  bool first = false;  ///< of those that are shown
  bool last = false;
  bool quiet = false;  ///< nothing is shown of it
};

/// Requires completed options.
inline std::vector<Pass> passes_of(const Options& options) {
  constexpr uint64_t kLargest = uint64_t{8} << 20U;
  constexpr uint64_t kWarmUp = 1000;
  std::vector<Pass> passes;
  if (options.warm_up) {
    Options first = options;
    first.iterations = std::min(options.iterations, kWarmUp);
    first.duration_s = 0;
    first.rate = 0;
    passes.push_back({.options = first, .quiet = true});
  }
  const bool datagrams = options.connection.transport == app::Transport::ud;
  const uint64_t largest = datagrams ? options.connection.mtu : kLargest;
  for (uint64_t size = options.sweep ? 2 : options.size;
       size <= (options.sweep ? largest : options.size); size *= 2) {
    Options one = options;
    one.size = size;
    passes.push_back({.options = one, .first = passes.empty() || passes.back().quiet});
  }
  passes.back().last = true;
  return passes;
}

}  // namespace uroce::bw
