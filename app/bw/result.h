// What uroce-bw prints: perftest's header and row, then what they leave out.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "common/plot.h"
#include "common/report.h"
#include "findings.h"
#include "options.h"
#include "plan.h"
#include "timeline.h"

namespace uroce::bw {

struct RunResult {
  app::BandwidthResult bandwidth;
  bool measured = false;  ///< bandwidth means something
  bool interrupted = false;
  double cpu_share = 0;                                  ///< of one CPU
  std::optional<app::ProcessorCounts::Spent> processor;  ///< by this end, for all messages
  std::vector<Timeline::Mark> marks;                     ///< of what this end sent
  Findings findings;                                     ///< of this end, or told by the other
  app::Counters counters;
};

/// Before the run: what is measured, and the columns' names.
void print_header(const Options& options, const Plan& plan);

/// One row for one size of several; `whole`: the last of them, or the only one.
void print_result(const Options& options, const RunResult& result, bool whole);

/// Takes what was measured in the first and in the last seconds out of the figures.
void leave_out_margins(RunResult& result, uint32_t margin_s);

/// As JSON, to where --json says.
roce::Status write_json(const Options& options, const Plan& plan,
                        const std::vector<RunResult>& results);

/// Bandwidth over size when there are several, else the rate over time.
app::Plot plot_of(const Options& options, const std::vector<RunResult>& results);

}  // namespace uroce::bw
