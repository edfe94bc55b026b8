// The command line of uroce-pingpong: ibv_rc_pingpong's flags and uroce's own.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/args.h"
#include "common/run/rc_connection.h"

namespace uroce::pingpong {

inline constexpr std::string_view kProgram = "uroce-pingpong";

enum class Operation : uint8_t { send, write, read };

struct Options {
  app::CommonOptions common;
  app::RcOptions rc;
  Operation operation = Operation::send;
  bool stock = false;  ///< client: the server is ibv_rc_pingpong
};

/// An exit code when the program must end; messages have been printed.
std::optional<int> parse(int argc, const char* const* argv, Options& options);

/// "send", "write", "read".
std::string_view name_of(Operation operation);

}  // namespace uroce::pingpong
