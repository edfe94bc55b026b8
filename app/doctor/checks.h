// The checks of uroce-doctor. Each looks at one subject with the configuration in mind and adds at
// least one finding. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "finding.h"
#include "roce/config.h"
#include "system.h"

namespace uroce::doctor {

// check_memory.cc
void check_hugepages(const System& system, const roce::Config& config, Findings& findings);
void check_memlock(const System& system, const roce::Config& config, Findings& findings);
void check_memory(const System& system, const roce::Config& config, Findings& findings);

// check_cpu.cc
void check_cpus(const System& system, const roce::Config& config, Findings& findings);
void check_isolation(const System& system, const roce::Config& config, Findings& findings);
void check_frequency(const System& system, const roce::Config& config, Findings& findings);
void check_simd(const System& system, const roce::Config& config, Findings& findings);
void check_clock(const System& system, const roce::Config& config, Findings& findings);

// check_pci.cc
void check_iommu(const System& system, const roce::Config& config, Findings& findings);
void check_driver(const System& system, const roce::Config& config, Findings& findings);
void check_numa(const System& system, const roce::Config& config, Findings& findings);

// check_network.cc
void check_rights(const System& system, const roce::Config& config, Findings& findings);
void check_wire(const System& system, const roce::Config& config, Findings& findings);
void check_mtu(const System& system, const roce::Config& config, Findings& findings);
/// Asks TCP port `port` of `host`; whether anybody listens there does not matter.
void check_peer(const std::string& host, uint16_t port, Findings& findings);

}  // namespace uroce::doctor
