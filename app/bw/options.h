// The command line of uroce-bw: perftest's flags and uroce's own.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/options.h"
#include "common/report.h"

namespace uroce::bw {

inline constexpr std::string_view kProgram = "uroce-bw";

struct Options : app::RunOptions {
  uint32_t post_list = 16;
  uint32_t cq_moderation = 100;
  app::BandwidthUnit unit = app::BandwidthUnit::mib;
};

/// An exit code when the program must end; messages have been printed.
std::optional<int> parse(int argc, const char* const* argv, Options& options);

}  // namespace uroce::bw
