// A reactor as storage targets have it: one thread calls pollers in turn, none of which ever waits.
// Owner: the examples. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "rc.h"

namespace example {

class Reactor {
 public:
  void add(std::function<void()> poller) { pollers_.push_back(std::move(poller)); }
  /// Ends run() after this round.
  void stop() { running_ = false; }
  void run() {
    while (running_) {
      for (const auto& poll : pollers_) {
        poll();
      }
    }
  }

 private:
  std::vector<std::function<void()>> pollers_;
  bool running_ = true;
};

/// Pollers for the device and for the completions of `connection`: `handle` gets each of them.
inline void add_network(Reactor& reactor, roce::Endpoint& endpoint, Connection& connection,
                        std::function<void(const ibv_wc&)> handle) {
  reactor.add([&endpoint] { endpoint.poll(); });
  reactor.add([&connection, handle = std::move(handle)] {
    std::array<ibv_wc, 16> done{};
    const int count = connection.cq.poll(done);
    for (int i = 0; i < count; ++i) {
      const ibv_wc& wc = done[static_cast<size_t>(i)];
      if (wc.status != IBV_WC_SUCCESS) {
        die(std::string(verbs::wc_status_name(wc.status)));
      }
      handle(wc);
    }
  });
}

}  // namespace example
