// DPDK's telemetry socket for what is not DPDK's own: commands whose answers a handler makes. One
// handler for a process, since commands cannot be taken back.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace roce {

/// Names with a number or a text each; a list: without the names.
struct TelemetryAnswer {
  using Value = std::variant<uint64_t, std::string>;
  std::vector<std::pair<std::string, Value>> entries;
  bool list = false;

  /// DPDK takes no more entries than this; further ones are left out.
  static constexpr size_t kMostEntries = 250;
};

struct TelemetryCommand {
  const char* name;  ///< "/roce/qps"
  const char* help;
};

/// Gets the command and what came behind the comma. Thread: one of DPDK's own.
using TelemetryHandler = std::function<TelemetryAnswer(std::string_view, std::string_view)>;

/// Answers `commands` by `handler` from now on; their names live for ever. EAL must run, with its
/// telemetry.
Status serve_telemetry(std::span<const TelemetryCommand> commands, TelemetryHandler handler);

/// The handler is not called any more once this has returned.
void stop_telemetry();

}  // namespace roce
