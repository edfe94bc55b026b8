// NICs: IOMMU and VFIO, the driver they are bound to, the memory they are near to.
// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "checks.h"

namespace uroce::doctor {
namespace {

constexpr std::string_view kDevices = "/sys/bus/pci/devices";

bool wanted(const roce::Config& config) {
  return config.port.kind == roce::PortKind::pci;
}

std::string folder_of(const std::string& address) {
  return fmt::format("{}/{}", kDevices, address);
}

/// "0000:01:00.0 (ixgbe)", for each Ethernet device.
std::string nics(const System& system) {
  std::string text;
  for (const std::string& address : system.list(kDevices)) {
    const std::string type = system.read(folder_of(address) + "/class").value_or("");
    if (type.starts_with("0x0200")) {
      const std::string driver = system.link_name(folder_of(address) + "/driver");
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", address,
                          driver.empty() ? "no driver" : driver);
    }
  }
  return text;
}

}  // namespace

void check_iommu(const System& system, const roce::Config& config, Findings& findings) {
  if (!wanted(config)) {
    findings.push_back({Verdict::ok, "iommu",
                        fmt::format("not needed by port.kind {}", roce::name_of(config.port.kind)),
                        ""});
    return;
  }
  if (!system.exists("/dev/vfio/vfio")) {
    findings.push_back(
        {Verdict::bad, "iommu", "the VFIO driver is not loaded", "sudo modprobe vfio-pci"});
    return;
  }
  const bool on = !system.list("/sys/class/iommu").empty();
  const std::string unsafe = "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode";
  if (!on && system.read(unsafe).value_or("N") != "Y") {
    findings.push_back({Verdict::bad, "iommu", "there is no IOMMU, and VFIO refuses to do without",
                        fmt::format("sudo sh -c 'echo 1 > {}' (the device can then write to all "
                                    "memory), or switch the IOMMU on in the firmware",
                                    unsafe)});
    return;
  }
  findings.push_back({on ? Verdict::ok : Verdict::slow, "iommu",
                      on ? "on" : "off; VFIO works without protection of memory", ""});
}

void check_driver(const System& system, const roce::Config& config, Findings& findings) {
  const std::string all = nics(system);
  if (!wanted(config)) {
    findings.push_back({Verdict::ok, "driver",
                        all.empty() ? "no NIC on the PCI bus; none is needed"
                                    : fmt::format("NICs: {}; none is needed", all),
                        ""});
    return;
  }
  const std::string& address = config.port.pci;
  if (!system.exists(folder_of(address))) {
    findings.push_back(
        {Verdict::bad, "driver",
         fmt::format("there is no PCI device {}; NICs: {}", address, all.empty() ? "none" : all),
         "--set port.pci=ADDRESS"});
    return;
  }
  const std::string driver = system.link_name(folder_of(address) + "/driver");
  if (driver != "vfio-pci") {
    findings.push_back({Verdict::bad, "driver",
                        fmt::format("{} is bound to {}, not to vfio-pci", address,
                                    driver.empty() ? "no driver" : driver),
                        fmt::format("sudo dpdk-devbind.py --bind=vfio-pci {}", address)});
    return;
  }
  const std::string group = system.link_name(folder_of(address) + "/iommu_group");
  const std::string file = fmt::format("/dev/vfio/{}", group);
  const bool usable = !group.empty() && system.may_use(file);
  findings.push_back({usable ? Verdict::ok : Verdict::bad, "driver",
                      usable ? fmt::format("{} is bound to vfio-pci", address)
                             : fmt::format("{} is bound to vfio-pci, but this user may not open {}",
                                           address, file),
                      usable ? "" : fmt::format("sudo chown $USER {}", file)});
}

void check_numa(const System& system, const roce::Config& config, Findings& findings) {
  const auto nodes = system.list("/sys/devices/system/node");
  size_t count = 0;
  std::string of_cpu;
  for (const std::string& name : nodes) {
    if (name.starts_with("node")) {
      ++count;
      const auto cpus = system.read(fmt::format("/sys/devices/system/node/{}/cpulist", name));
      of_cpu = cpus && in_cpu_list(*cpus, config.eal.cpu) ? name.substr(4) : of_cpu;
    }
  }
  if (count < 2 || !wanted(config)) {
    findings.push_back(
        {Verdict::ok, "numa",
         count < 2 ? "one memory node"
                   : fmt::format("{} memory nodes, CPU {} is on {}", count, config.eal.cpu, of_cpu),
         ""});
    return;
  }
  const std::string of_nic = system.read(folder_of(config.port.pci) + "/numa_node").value_or("-1");
  if (of_nic == of_cpu || of_nic == "-1") {
    findings.push_back(
        {Verdict::ok, "numa", fmt::format("the NIC and CPU {} share a node", config.eal.cpu), ""});
    return;
  }
  const std::string near =
      system.read(fmt::format("/sys/devices/system/node/node{}/cpulist", of_nic)).value_or("");
  findings.push_back(
      {Verdict::slow, "numa",
       fmt::format("the NIC is on node {} and CPU {} on node {}", of_nic, config.eal.cpu, of_cpu),
       fmt::format("--set eal.cpu=N, with N of {}", near)});
}

}  // namespace uroce::doctor
