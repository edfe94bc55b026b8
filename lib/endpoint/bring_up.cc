// What Config's settings are to DPDK, to the port and to the engine.
// SPDX-License-Identifier: BSD-3-Clause
#include "bring_up.h"

#include <utility>

#include "dpdk_args.h"
#include "engine/engine.h"
#include "port/dpdk/dpdk_port.h"
#include "port/dpdk/eal.h"
#include "steering/steered_port.h"

namespace roce {
namespace {

EalConfig eal_config(const Config& config, const DpdkArgs& args) {
  EalConfig eal;
  // An engine thread is pinned by itself, and must leave the application's thread free.
  if (config.engine.drive == Drive::rtc) {
    eal.cpus = {config.eal.cpu};
  }
  eal.hugepages = config.eal.hugepages;
  eal.memory_mb = config.eal.memory_mb;
  eal.vdevs = args.vdevs;
  eal.pci_allow = args.pci_allow;
  eal.wide_simd = config.eal.wide_simd;
  eal.extra_args = config.eal.extra;
  eal.telemetry = config.telemetry.socket;
  return eal;
}

DpdkPortConfig port_config(const Config& config, const DpdkArgs& args) {
  DpdkPortConfig port;
  port.device = args.device;
  port.mtu = config.port.mtu;
  port.rx_descriptors = static_cast<uint16_t>(config.port.rx_descriptors);
  port.tx_descriptors = static_cast<uint16_t>(config.port.tx_descriptors);
  port.rx_buffers = port.tx_buffers = config.port.buffers;
  port.mac = config.port.mac;
  return port;
}

/// One ring, both ways.
bool loops_back(const Config& config) {
  return config.port.kind == PortKind::ring;
}

Status add_addresses(const AddressSettings& from, LocalAddresses& to) {
  if (from.ipv4) {
    if (Status s = to.add(Gid::from(from.ipv4->address), from.ipv4->length); !s) {
      return s;
    }
  }
  for (const Ipv6Prefix& prefix : from.ipv6) {
    if (Status s = to.add(Gid::from(prefix.address), prefix.length); !s) {
      return s;
    }
  }
  if (from.vlan != 0) {
    to.vlan = static_cast<uint16_t>(from.vlan);
  }
  return {};
}

}  // namespace

EalGuard::~EalGuard() {
  stop_eal();
}

Result<std::vector<std::unique_ptr<Port>>> start_ports(const Config& config) {
  const DpdkArgs args = dpdk_args(config);
  if (const Status s = start_eal(eal_config(config, args)); !s) {
    return tl::make_unexpected(s.error());
  }
  const uint32_t lcores = config.engine.lcores;
  std::vector<std::unique_ptr<Port>> ports;
  if (lcores == 1) {
    auto port = open_dpdk_port(port_config(config, args));
    if (!port) {
      return tl::make_unexpected(port.error());
    }
    ports.push_back(std::move(*port));
    return ports;
  }
  auto queues = open_dpdk_queues(port_config(config, args), lcores);
  if (!queues) {
    return tl::make_unexpected(queues.error());
  }
  const auto steering = std::make_shared<Steering>(lcores, loops_back(config));
  for (uint32_t i = 0; i < lcores; ++i) {
    ports.push_back(std::make_unique<SteeredPort>(std::move((*queues)[i]), steering, i));
  }
  return ports;
}

Result<std::unique_ptr<verbs::Device>> create_device(const Config& config, uint32_t lcore,
                                                     Port& port, verbs::Clock& clock,
                                                     std::function<void()> while_waiting) {
  EngineConfig engine;
  engine.addresses.mac = port.info().mac;
  engine.held_packets = config.engine.held_packets;
  engine.port_loops_back = loops_back(config);
  engine.place = {lcore, config.engine.lcores};
  if (Status s = add_addresses(config.address, engine.addresses); !s) {
    return tl::make_unexpected(s.error());
  }
  for (const StaticNeighbour& n : config.address.neighbours) {
    engine.static_neighbours.emplace_back(n.ip, n.mac);
  }
  if (config.address.gateway) {
    engine.gateways.push_back(Gid::from(*config.address.gateway));
  }
  if (config.address.gateway6) {
    engine.gateways.push_back(Gid::from(*config.address.gateway6));
  }
  verbs::DeviceConfig device_config;
  device_config.window_packets = config.engine.window_packets;
  device_config.resolve_timeout = Duration::from_ms(config.engine.resolve_timeout_ms);
  device_config.dcqcn_line_rate = config.engine.dcqcn_mbps * 1e6 / 8;
  device_config.while_waiting = std::move(while_waiting);
  return verbs::Device::create(port, clock, engine, std::move(device_config));
}

}  // namespace roce
