// The command line of uroce-bw: perftest's flags and uroce's own.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/args.h"
#include "common/report.h"
#include "common/run/rc_connection.h"

namespace uroce::bw {

inline constexpr std::string_view kProgram = "uroce-bw";

enum class Operation : uint8_t { send, write, read };

struct Options {
  app::CommonOptions common;
  app::RcOptions rc;
  Operation operation = Operation::send;
  uint32_t post_list = 16;
  uint32_t cq_moderation = 100;
  app::BandwidthUnit unit = app::BandwidthUnit::mib;

  bool text() const { return common.json != "-"; }
};

/// An exit code when the program must end; messages have been printed.
std::optional<int> parse(int argc, const char* const* argv, Options& options);

/// "send", "write", "read".
std::string_view name_of(Operation operation);

}  // namespace uroce::bw
