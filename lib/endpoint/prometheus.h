// Prometheus: a device's figures in its text format, and a small HTTP server on the loopback
// address that hands them out. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/result.h"
#include "roce/snapshot.h"

namespace roce {

/// The text of /metrics. Names begin with uroce_; counters end in _total.
std::string prometheus_text(const verbs::Snapshot& snapshot);

class PrometheusServer {
 public:
  /// Gives the page, or a sentence that says why there is none. Thread: the server's own.
  using Page = std::function<Result<std::string>()>;

  /// Listens at 127.0.0.1:`port` on a thread of its own. EADDRINUSE names the port.
  static Result<std::unique_ptr<PrometheusServer>> start(uint16_t port, Page page);
  ~PrometheusServer();
  PrometheusServer(const PrometheusServer&) = delete;
  PrometheusServer& operator=(const PrometheusServer&) = delete;

 private:
  PrometheusServer(int listener, Page page);
  void serve();
  void answer(int client);

  int listener_;
  Page page_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace roce
