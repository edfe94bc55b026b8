// Telemetry: answers what is asked of a running endpoint, on DPDK's telemetry socket and to
// Prometheus. Asks the engine's thread for one snapshot, which serves all questions of the next
// moment. Threads: DPDK's and its own. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "port/dpdk/telemetry.h"
#include "prometheus.h"
#include "roce/config.h"
#include "roce/snapshot.h"
#include "roce/verbs.h"

namespace roce {

class Telemetry {
 public:
  /// As telemetry.* says; nullptr when nothing is wanted. `device` outlives the object.
  static Result<std::unique_ptr<Telemetry>> start(const Config& config,
                                                  const verbs::Device& device);
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

 private:
  Telemetry(const Config& config, const verbs::Device& device) : config_(config), device_(device) {}
  Result<verbs::Snapshot> snapshot();
  TelemetryAnswer answer(std::string_view command, std::string_view parameters);
  TelemetryAnswer lcores(const verbs::Snapshot& now);

  const Config config_;
  const verbs::Device& device_;
  std::mutex mutex_;
  std::optional<verbs::Snapshot> last_;  // guarded by mutex_, as is all below
  std::chrono::steady_clock::time_point taken_;
  uint64_t asked_ns_ = 0;  // when the busy share was last asked for
  uint64_t asked_busy_ns_ = 0;
  std::unique_ptr<PrometheusServer> prometheus_;  // the first to go
};

}  // namespace roce
