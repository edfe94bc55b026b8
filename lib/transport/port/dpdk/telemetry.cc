// From answers to DPDK's containers.
// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include <rte_telemetry.h>

namespace roce {
namespace {

struct Served {
  std::mutex mutex;
  TelemetryHandler handler;        // guarded by mutex
  std::vector<std::string> known;  // commands that DPDK has been told
};

Served& served() {
  static Served one;
  return one;
}

void put(rte_tel_data& data, const TelemetryAnswer& answer) {
  const bool numbers =
      answer.entries.empty() || std::holds_alternative<uint64_t>(answer.entries.front().second);
  if (answer.list) {
    rte_tel_data_start_array(&data, numbers ? RTE_TEL_U64_VAL : RTE_TEL_STRING_VAL);
  } else {
    rte_tel_data_start_dict(&data);
  }
  const size_t count = std::min(answer.entries.size(), TelemetryAnswer::kMostEntries);
  for (size_t i = 0; i < count; ++i) {
    const auto& [name, value] = answer.entries[i];
    if (const auto* const number = std::get_if<uint64_t>(&value)) {
      answer.list ? rte_tel_data_add_array_u64(&data, *number)
                  : rte_tel_data_add_dict_u64(&data, name.c_str(), *number);
    } else {
      const std::string& text = std::get<std::string>(value);
      answer.list ? rte_tel_data_add_array_string(&data, text.c_str())
                  : rte_tel_data_add_dict_string(&data, name.c_str(), text.c_str());
    }
  }
}

int on_command(const char* command, const char* parameters, rte_tel_data* data) {
  const std::lock_guard lock(served().mutex);
  if (!served().handler) {
    return -ENODEV;
  }
  put(*data, served().handler(command, parameters != nullptr ? parameters : ""));
  return 0;
}

}  // namespace

Status serve_telemetry(std::span<const TelemetryCommand> commands, TelemetryHandler handler) {
  const std::lock_guard lock(served().mutex);
  std::vector<std::string>& known = served().known;
  for (const TelemetryCommand& command : commands) {
    if (std::find(known.begin(), known.end(), command.name) != known.end()) {
      continue;
    }
    if (const int rc = rte_telemetry_register_cmd(command.name, on_command, command.help);
        rc != 0) {
      return failure(-rc, std::string("telemetry command ") + command.name + ": " +
                              std::strerror(-rc) + "; set telemetry.socket to false");
    }
    known.emplace_back(command.name);
  }
  served().handler = std::move(handler);
  return {};
}

void stop_telemetry() {
  const std::lock_guard lock(served().mutex);
  served().handler = nullptr;
}

}  // namespace roce
