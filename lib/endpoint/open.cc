// From a Config to a running device, and back down.
// SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <roce/endpoint.h>

#include "base/check.h"
#include "base/limits.h"
#include "bring_up.h"
#include "config_check.h"
#include "dpdk_args.h"
#include "port/dpdk/dpdk_clock.h"
#include "port/dpdk/eal.h"
#include "port/fault_config.h"
#include "port/faulty_port.h"
#include "port/pcap_port.h"
#include "port/recorder_port.h"
#include "telemetry.h"
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

uint64_t wall_clock_ns() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

/// The file of the `lcore`-th engine: its number is put before the extension, but for the first.
std::string file_of(const std::string& file, size_t lcore) {
  const std::filesystem::path path(file);
  return lcore == 0 ? file
                    : (path.parent_path() / path.stem()).string() + "-" + std::to_string(lcore) +
                          path.extension().string();
}

/// A capture of `port`: classic pcap where the file's name asks for it.
Result<std::unique_ptr<Port>> recorded(std::unique_ptr<Port> port, const std::string& file,
                                       uint64_t wall_at_zero) {
  if (file.ends_with(".pcap")) {
    return PcapPort::open(std::move(port), file, wall_at_zero);
  }
  return RecorderPort::open(std::move(port), file, RecorderPort::Mode::everything, wall_at_zero);
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
  // One of each for every engine; all devices go before the first port does.
  std::vector<std::unique_ptr<Port>> ports;
  std::vector<FaultyPort*> faulty;  // inside `ports`
  std::vector<std::unique_ptr<verbs::Device>> devices;
  std::array<bool, kMaxEngines> lent{};  // each read by who drives the device
  std::unique_ptr<Telemetry> telemetry;  // asks the devices

  Status open_ports();
  Status wrap_port(size_t lcore, uint64_t wall_at_zero);
  Status open_device(size_t lcore, uint32_t cpu);
  void poll_own();
};

Status Endpoint::State::open_ports() {
  auto opened = start_ports(config);
  if (!opened) {
    return pass_on(opened.error());
  }
  ports = std::move(*opened);
  clock = std::make_unique<DeviceClock>(TscClock::from_eal());
  const uint64_t wall_at_zero = wall_clock_ns() - clock->now().ns;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (Status s = wrap_port(i, wall_at_zero); !s) {
      return s;
    }
  }
  return {};
}

Status Endpoint::State::wrap_port(size_t lcore, uint64_t wall_at_zero) {
  std::unique_ptr<Port>& port = ports[lcore];
  const auto wrap = [&port](Result<std::unique_ptr<Port>> wrapped) -> Status {
    if (!wrapped) {
      return pass_on(wrapped.error());
    }
    port = std::move(*wrapped);
    return {};
  };
  if (!config.wrap.capture.empty()) {
    if (Status s =
            wrap(recorded(std::move(port), file_of(config.wrap.capture, lcore), wall_at_zero));
        !s) {
      return s;
    }
  }
  if (!config.wrap.flight_recorder.empty()) {
    if (Status s =
            wrap(RecorderPort::open(std::move(port), file_of(config.wrap.flight_recorder, lcore),
                                    RecorderPort::Mode::flight, wall_at_zero));
        !s) {
      return s;
    }
  }
  if (!config.wrap.fault.empty()) {
    Result<FaultConfig> faults = parse_faults(config.wrap.fault);
    if (!faults) {
      return pass_on(faults.error());
    }
    faults->seed += lcore;
    auto wrapped = std::make_unique<FaultyPort>(std::move(port), *faults);
    faulty.push_back(wrapped.get());
    port = std::move(wrapped);
  }
  return {};
}

Status Endpoint::State::open_device(size_t lcore, uint32_t cpu) {
  // Where one thread drives several devices, one that waits for a neighbour must not stop the
  // others: the answer may come to any queue.
  std::function<void()> while_waiting;
  if (config.engine.drive == Drive::rtc && config.engine.lcores > 1) {
    while_waiting = [this, lcore] {
      if (!lent[lcore]) {
        poll_own();
      }
    };
  }
  auto created = create_device(config, static_cast<uint32_t>(lcore), *ports[lcore], *clock,
                               std::move(while_waiting));
  if (!created) {
    return pass_on(created.error());
  }
  devices.push_back(std::move(*created));
  if (config.engine.drive == Drive::lcore) {
    return devices.back()->start_thread(static_cast<int>(cpu),
                                        [] { static_cast<void>(register_port_thread()); });
  }
  if (config.engine.drive == Drive::assisted) {
    return devices.back()->start_helper([] { static_cast<void>(register_port_thread()); });
  }
  return {};
}

void Endpoint::State::poll_own() {
  for (size_t i = 0; i < devices.size(); ++i) {
    if (!lent[i]) {
      devices[i]->poll();
    }
  }
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
  const std::vector<uint32_t> cpus = lcore_cpus(config, allowed_cpus());  // DPDK may narrow them
  if (const Status s = state->open_ports(); !s) {
    return pass_on(s.error());
  }
  for (size_t i = 0; i < state->ports.size(); ++i) {
    if (const Status s = state->open_device(i, cpus[i]); !s) {
      return pass_on(s.error());
    }
  }
  std::vector<const verbs::Device*> devices;
  for (const auto& device : state->devices) {
    devices.push_back(device.get());
  }
  auto telemetry = Telemetry::start(config, devices);
  if (!telemetry) {
    return pass_on(telemetry.error());
  }
  state->telemetry = std::move(*telemetry);
  return std::unique_ptr<Endpoint>(new Endpoint(std::move(state)));
}

verbs::Device& Endpoint::device(size_t lcore) {
  ROCE_CHECK(lcore < state_->devices.size());
  return *state_->devices[lcore];
}
size_t Endpoint::lcores() const {
  return state_->devices.size();
}
const Config& Endpoint::config() const {
  return state_->config;
}

void Endpoint::poll() {
  if (state_->config.engine.drive == Drive::lcore) {
    sched_yield();
    return;
  }
  state_->poll_own();
}

void Endpoint::lend(size_t lcore) {
  ROCE_CHECK(lcore < state_->devices.size());
  state_->lent[lcore] = true;
}

void Endpoint::give_back(size_t lcore) {
  ROCE_CHECK(lcore < state_->devices.size());
  state_->lent[lcore] = false;
}

bool Endpoint::register_thread() {
  return register_port_thread();
}

bool Endpoint::link_up() {
  return device().link_up();
}

void Endpoint::linger() {
  constexpr timespec kNap{0, 500'000};
  Instant until;
  for (size_t i = 0; i < state_->devices.size(); ++i) {
    until = state_->lent[i] ? until : std::max(until, state_->devices[i]->peers_may_ask_until());
  }
  while (now() < until && link_up()) {
    if (state_->config.engine.drive == Drive::rtc) {
      poll();
    } else {
      nanosleep(&kNap, nullptr);
    }
  }
}

FaultSummary Endpoint::faults() const {
  FaultSummary summary;
  for (const FaultyPort* port : state_->faulty) {
    const FaultCounters& c = port->counters();
    summary.lost += c.lost;
    summary.duplicated += c.duplicated;
    summary.corrupted += c.corrupted;
    summary.reordered += c.reordered;
    summary.delayed += c.delayed;
  }
  return summary;
}

Instant Endpoint::now() const {
  return state_->clock->now();
}

}  // namespace roce
