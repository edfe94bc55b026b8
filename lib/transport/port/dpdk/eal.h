// The environment abstraction layer of DPDK: one start and one stop for a process, from a plain
// description. Nothing of DPDK shows here, so programs need its headers no more than the core does.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace roce {

struct EalConfig {
  /// Names the runtime directory; must differ between processes that run at once. Empty: the
  /// program's own, "uroce-" and the process id.
  std::string file_prefix;
  /// CPUs for DPDK's threads. The calling thread is pinned to the first one. Empty: nothing is
  /// pinned and the caller keeps its affinity, which suits a library inside a foreign program.
  std::vector<unsigned> cpus;
  bool hugepages = false;          ///< false: ordinary pages, no preparation of the machine needed
  uint32_t memory_mb = 512;        ///< for buffers; with hugepages only a check of what is free
  std::vector<std::string> vdevs;  ///< "net_vhost0,iface=/tmp/x.sock,queues=1"
  std::vector<std::string> pci_allow;  ///< PCI addresses; empty: the PCI bus is not looked at
  bool wide_simd = true;               ///< let drivers use 512-bit vectors where the CPU has them
  bool telemetry = false;
  std::vector<std::string> extra_args;  ///< passed on as they are, after all others
  bool verbose = false;                 ///< DPDK's log goes to stderr; otherwise only into errors
};

/// Starts DPDK. Once per process: after a start, or a failure inside DPDK, a further call is
/// refused (EALREADY); after a refused `config` it may be corrected and tried again. The calling
/// thread becomes DPDK's main thread. Takes 0.13-0.2 s.
Status start_eal(const EalConfig& config);

/// Removes the devices and DPDK's runtime directory. All ports must be closed. DPDK's threads and
/// memory stay until the process ends. Does nothing when DPDK is not running. Thread: the one that
/// called start_eal().
void stop_eal();

/// Gives the calling thread buffer caches of its own. A thread other than start_eal()'s caller that
/// drives a port works without, but pays for every buffer. The thread's end gives the slot back;
/// returns false when there is none left.
bool register_port_thread();

/// Creates one more device while running: "net_af_packet0,iface=eth1". EAL must run.
Status add_device(const std::string& description);

/// Names of the network devices that open_dpdk_port() takes, in DPDK's order.
std::vector<std::string> device_names();

}  // namespace roce
