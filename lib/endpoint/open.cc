// From a Config to a running device, and back down.
// SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>

#include <ctime>
#include <optional>
#include <utility>

#include <roce/endpoint.h>

#include "dpdk_args.h"
#include "engine/engine.h"
#include "port/dpdk/dpdk_clock.h"
#include "port/dpdk/dpdk_port.h"
#include "port/dpdk/eal.h"
#include "port/fault_config.h"
#include "port/faulty_port.h"
#include "port/pcap_port.h"
#include "wire_socket.h"

namespace roce {
namespace {

class DeviceClock final : public verbs::Clock {
 public:
  explicit DeviceClock(TscClock tsc) : tsc_(tsc) {}
  Instant now() override { return tsc_.now(); }

 private:
  TscClock tsc_;
};

/// Stops DPDK when everything declared after it is gone.
struct EalGuard {
  EalGuard() = default;
  EalGuard(const EalGuard&) = delete;
  EalGuard& operator=(const EalGuard&) = delete;
  ~EalGuard() { stop_eal(); }
};

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

uint64_t wall_clock_ns() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

tl::unexpected<Error> pass_on(const Error& error) {
  return tl::make_unexpected(error);
}

}  // namespace

struct Endpoint::State {
  Config config;
  std::optional<WireSocket> socket;  // outermost: its path is free again after the port has closed
  EalGuard eal;
  std::unique_ptr<DeviceClock> clock;
  std::unique_ptr<Port> port;
  FaultyPort* faulty = nullptr;  // inside `port`
  std::unique_ptr<verbs::Device> device;

  Status open_port(const DpdkArgs& args);
  Status open_device();
};

Status Endpoint::State::open_port(const DpdkArgs& args) {
  Result<std::unique_ptr<Port>> opened = open_dpdk_port(port_config(config, args));
  if (!opened) {
    return pass_on(opened.error());
  }
  port = std::move(*opened);
  clock = std::make_unique<DeviceClock>(TscClock::from_eal());
  if (!config.wrap.capture.empty()) {
    const uint64_t wall_at_zero = wall_clock_ns() - clock->now().ns;
    auto capturing = PcapPort::open(std::move(port), config.wrap.capture, wall_at_zero);
    if (!capturing) {
      return pass_on(capturing.error());
    }
    port = std::move(*capturing);
  }
  if (!config.wrap.fault.empty()) {
    const Result<FaultConfig> faults = parse_faults(config.wrap.fault);
    if (!faults) {
      return pass_on(faults.error());
    }
    auto wrapped = std::make_unique<FaultyPort>(std::move(port), *faults);
    faulty = wrapped.get();
    port = std::move(wrapped);
  }
  return {};
}

Status Endpoint::State::open_device() {
  EngineConfig engine;
  engine.addresses.mac = port->info().mac;
  if (Status s = add_addresses(config.address, engine.addresses); !s) {
    return s;
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
  auto created = verbs::Device::create(*port, *clock, engine, std::move(device_config));
  if (!created) {
    return pass_on(created.error());
  }
  device = std::move(*created);
  if (config.engine.drive == Drive::lcore) {
    return device->start_thread(static_cast<int>(config.eal.cpu),
                                [] { static_cast<void>(register_port_thread()); });
  }
  return {};
}

Endpoint::Endpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}
Endpoint::~Endpoint() = default;

Result<std::unique_ptr<Endpoint>> Endpoint::open(const Config& config) {
  auto state = std::make_unique<State>();
  state->config = config;
  if (!config.wrap.fault.empty()) {
    // Judged before anything is started.
    if (const auto faults = parse_faults(config.wrap.fault); !faults) {
      return pass_on(faults.error());
    }
  }
  if (uses_socket(config)) {
    if (config.port.side == Side::a) {
      auto socket = WireSocket::listen_at(config.port.socket);
      if (!socket) {
        return pass_on(socket.error());
      }
      state->socket.emplace(std::move(*socket));
    } else if (const Status s = check_wire_socket(config.port.socket); !s) {
      return pass_on(s.error());
    }
  }
  const DpdkArgs args = dpdk_args(config);
  if (const Status s = start_eal(eal_config(config, args)); !s) {
    return pass_on(s.error());
  }
  if (const Status s = state->open_port(args); !s) {
    return pass_on(s.error());
  }
  if (const Status s = state->open_device(); !s) {
    return pass_on(s.error());
  }
  return std::unique_ptr<Endpoint>(new Endpoint(std::move(state)));
}

verbs::Device& Endpoint::device() {
  return *state_->device;
}
const Config& Endpoint::config() const {
  return state_->config;
}

void Endpoint::poll() {
  if (state_->config.engine.drive == Drive::rtc) {
    state_->device->poll();
  } else {
    sched_yield();
  }
}

bool Endpoint::link_up() {
  return state_->device->link_up();
}

FaultSummary Endpoint::faults() const {
  FaultSummary summary;
  if (state_->faulty != nullptr) {
    const FaultCounters& c = state_->faulty->counters();
    summary = {c.lost, c.duplicated, c.corrupted, c.reordered, c.delayed};
  }
  return summary;
}

Instant Endpoint::now() const {
  return state_->clock->now();
}

}  // namespace roce
