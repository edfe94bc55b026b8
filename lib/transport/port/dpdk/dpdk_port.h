// Opens a DPDK device as a Port. Nothing of DPDK shows here; start_eal() must have succeeded.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "port/port.h"

namespace roce {

struct DpdkPortConfig {
  std::string device;              ///< as device_names() spells it: "net_vhost0", "0000:01:00.0"
  uint32_t mtu = 9000;             ///< largest IP packet in bytes, 576..9728
  uint16_t rx_descriptors = 1024;  ///< rounded to what the device can
  uint16_t tx_descriptors = 1024;
  /// Buffers for each direction, raised where the rings and caches need more. Receiving has buffers
  /// of its own, so that it can never starve replies. Every further one makes the caches colder.
  uint32_t rx_buffers = 4095;
  uint32_t tx_buffers = 4095;
  std::optional<MacAddress> mac;  ///< unset: the device's, or a random one where it has none
};

/// Opens one queue pair of one device and starts it. A device can be opened once at a time;
/// destroying the port closes the device and, where it can be, removes it.
/// Errors: ENODEV no such device, EINVAL a value the device cannot carry, ENOMEM, EIO.
Result<std::unique_ptr<Port>> open_dpdk_port(const DpdkPortConfig& config);

/// Opens `queues` queue pairs of one device, 2..kMaxEngines: a port each, for a thread each, whose
/// received frames may be released to any of them. The buffers of all of them are one pool for each
/// direction, `queues` times as large. Where the device spreads what it receives (RSS), it does so
/// by addresses and UDP ports. The last port to be destroyed closes the device. Errors as above;
/// EINVAL also when the device has fewer queue pairs.
Result<std::vector<std::unique_ptr<Port>>> open_dpdk_queues(const DpdkPortConfig& config,
                                                            uint32_t queues);

}  // namespace roce
