// What uroce-pingpong prints: ibv_rc_pingpong's lines, then the distribution and the losses.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "common/plot.h"
#include "common/report.h"
#include "options.h"
#include "pinger.h"

namespace uroce::pingpong {

struct RunResult {
  Outcome outcome;
  bool interrupted = false;
  std::optional<app::ProcessorCounts::Spent> processor;  ///< by this end, for all messages
  app::Counters counters;
};

void print_result(const Options& options, const RunResult& result);

/// The percentiles of the times.
app::Plot plot_of(const Options& options, const RunResult& result);

/// As JSON, to where --json says.
roce::Status write_result(const Options& options, const RunResult& result);

}  // namespace uroce::pingpong
