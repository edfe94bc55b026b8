// Telemetry: answers what is asked of a running endpoint, on DPDK's telemetry socket and to
// Prometheus. Asks the engine's thread for one snapshot, which serves all questions of the next
// moment. Threads: DPDK's and its own. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
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
                                                  std::vector<const verbs::Device*> devices);
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

 private:
  /// When an engine's busy share was last asked for.
  struct Asked {
    uint64_t time_ns = 0;
    uint64_t busy_ns = 0;
  };

  Telemetry(const Config& config, std::vector<const verbs::Device*> devices)
      : config_(config), devices_(std::move(devices)), asked_(devices_.size()) {}
  Result<std::vector<verbs::Snapshot>> snapshots();
  TelemetryAnswer answer(std::string_view command, std::string_view parameters);
  TelemetryAnswer lcore(const std::vector<verbs::Snapshot>& now, std::string_view number);

  const Config config_;
  const std::vector<const verbs::Device*> devices_;
  std::mutex mutex_;
  std::vector<verbs::Snapshot> last_;  // guarded by mutex_, as is all below
  std::chrono::steady_clock::time_point taken_;
  std::vector<Asked> asked_;                      // by engine
  std::unique_ptr<PrometheusServer> prometheus_;  // the first to go
};

}  // namespace roce
