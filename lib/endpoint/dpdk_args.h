// From a Config to what DPDK is told: pure text, so that it can be tested without DPDK. The traps
// of each device that are known beforehand are avoided here.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "roce/config.h"

namespace roce {

struct DpdkArgs {
  std::string device;                  ///< name of the port once EAL runs: "net_vhost0"
  std::vector<std::string> vdevs;      ///< values for EAL's --vdev
  std::vector<std::string> pci_allow;  ///< values for EAL's -a; empty: no PCI
};

/// Requires a Config from load_config().
DpdkArgs dpdk_args(const Config& config);

/// Bytes one frame buffer of this configuration takes, heads of DPDK included; an upper estimate
/// for checking memory.
uint32_t buffer_bytes(const Config& config);

/// True when the port is a UNIX socket that side a creates and side b opens.
bool uses_socket(const Config& config);

}  // namespace roce
