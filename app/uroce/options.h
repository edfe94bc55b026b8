// What `uroce run` is told: settings for the library that it preloads, and the program to start.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "roce/config.h"

namespace uroce::launcher {

struct Options {
  std::string config_file;              ///< empty: UROCE_CONFIG, or none
  std::vector<roce::ConfigFlag> flags;  ///< settings by flag, the last one wins
  std::vector<std::string> program;     ///< its name and its arguments
};

/// Reads the arguments after the program's own name. An exit code when there is nothing to run:
/// help and version go to stdout, one line on stderr says what is wrong.
std::optional<int> parse(const std::vector<std::string>& arguments, Options& options);

}  // namespace uroce::launcher
