// What uroce-bw prints: perftest's header and row, then what they leave out.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "common/report.h"
#include "findings.h"
#include "options.h"
#include "plan.h"

namespace uroce::bw {

struct RunResult {
  app::BandwidthResult bandwidth;
  bool measured = false;  ///< bandwidth means something
  bool interrupted = false;
  Findings findings;  ///< of this end, or told by the other
  app::Counters counters;
};

/// Before the run: what is measured, and the columns' names.
void print_header(const Options& options, const Plan& plan);

void print_result(const Options& options, const RunResult& result);

/// As JSON, to where --json says.
roce::Status write_result(const Options& options, const Plan& plan, const RunResult& result);

}  // namespace uroce::bw
