// Telemetry: answers what is asked of a running endpoint, on DPDK's telemetry socket and to
// Prometheus. Asks the engine's thread for one snapshot, which serves all questions of the next
// moment. Threads: DPDK's and its own. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "port/dpdk/telemetry.h"
#include "prometheus.h"
#include "roce/config.h"
#include "roce/snapshot.h"
#include "roce/verbs.h"

namespace roce {

class Telemetry {
 public:
  /// As telemetry.* says; nullptr when nothing is wanted. The devices, at least one, are shown as
  /// one that has all of their objects and the sums of their counters; they outlive the object.
  static Result<std::unique_ptr<Telemetry>> start(const Config& config,
                                                  const std::vector<const verbs::Device*>& devices);
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

 private:
  /// One engine, as it was last seen.
  struct Engine {
    const verbs::Device* device = nullptr;
    std::optional<verbs::Snapshot> last;
    std::chrono::steady_clock::time_point taken;
    uint64_t asked_ns = 0;  // when the busy share was last asked for
    uint64_t asked_busy_ns = 0;
  };

  Telemetry(const Config& config, const std::vector<const verbs::Device*>& devices);
  Result<verbs::Snapshot> snapshot(Engine& engine);
  Result<verbs::Snapshot> snapshot();
  TelemetryAnswer answer(std::string_view command, std::string_view parameters);
  TelemetryAnswer lcore(std::string_view number);

  const Config config_;
  std::mutex mutex_;
  std::vector<Engine> engines_;                   // guarded by mutex_
  std::unique_ptr<PrometheusServer> prometheus_;  // the first to go
};

}  // namespace roce
