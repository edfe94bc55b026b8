// The command line of uroce-pingpong: ibv_rc_pingpong's flags and uroce's own.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string_view>

#include "common/options.h"

namespace uroce::pingpong {

inline constexpr std::string_view kProgram = "uroce-pingpong";

struct Options : app::RunOptions {
  bool stock = false;  ///< client: the server is ibv_rc_pingpong
  double rate = 0;     ///< messages a second that the client starts; 0: each after the answer
};

/// An exit code when the program must end; messages have been printed.
std::optional<int> parse(int argc, const char* const* argv, Options& options);

}  // namespace uroce::pingpong
