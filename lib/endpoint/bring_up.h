// From settings to a device, in two steps: DPDK with its bare port, then an RDMA device over that
// port or over what wraps it. For Endpoint, and for benches that drive the bare port as well.
// Thread: the one that is to be DPDK's main thread. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "port/port.h"
#include "roce/config.h"
#include "roce/verbs.h"

namespace roce {

/// Stops DPDK, if it runs, when everything declared after it is gone.
class EalGuard {
 public:
  EalGuard() = default;
  EalGuard(const EalGuard&) = delete;
  EalGuard& operator=(const EalGuard&) = delete;
  ~EalGuard();
};

/// Starts DPDK by the settings of eal.* and port.* and opens their port: one for each of
/// engine.lcores, steered if there are several. Once a process; whoever calls it holds an EalGuard.
Result<std::vector<std::unique_ptr<Port>>> start_ports(const Config& config);

/// The device of the `lcore`-th engine over its port, with the settings of address.* and engine.*;
/// nothing drives it yet. `port` and `clock` must outlive it. `while_waiting` as in DeviceConfig.
Result<std::unique_ptr<verbs::Device>> create_device(const Config& config, uint32_t lcore,
                                                     Port& port, verbs::Clock& clock,
                                                     std::function<void()> while_waiting = {});

}  // namespace roce
