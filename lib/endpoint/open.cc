// From a Config to a running device, and back down.
// SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>

#include <ctime>
#include <optional>
#include <utility>

#include <roce/endpoint.h>

#include "bring_up.h"
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
  std::unique_ptr<Port> port;
  FaultyPort* faulty = nullptr;  // inside `port`
  std::unique_ptr<verbs::Device> device;
  std::unique_ptr<Telemetry> telemetry;  // asks the device

  Status open_port();
  Status wrap(Result<std::unique_ptr<Port>> wrapped);
  Status open_device();
};

Status Endpoint::State::wrap(Result<std::unique_ptr<Port>> wrapped) {
  if (!wrapped) {
    return pass_on(wrapped.error());
  }
  port = std::move(*wrapped);
  return {};
}

Status Endpoint::State::open_port() {
  Result<std::unique_ptr<Port>> opened = start_port(config);
  if (!opened) {
    return pass_on(opened.error());
  }
  port = std::move(*opened);
  clock = std::make_unique<DeviceClock>(TscClock::from_eal());
  const uint64_t wall_at_zero = wall_clock_ns() - clock->now().ns;
  if (!config.wrap.capture.empty()) {
    if (Status s = wrap(recorded(std::move(port), config.wrap.capture, wall_at_zero)); !s) {
      return s;
    }
  }
  if (!config.wrap.flight_recorder.empty()) {
    if (Status s = wrap(RecorderPort::open(std::move(port), config.wrap.flight_recorder,
                                           RecorderPort::Mode::flight, wall_at_zero));
        !s) {
      return s;
    }
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
  auto created = create_device(config, *port, *clock);
  if (!created) {
    return pass_on(created.error());
  }
  device = std::move(*created);
  if (config.engine.drive == Drive::lcore) {
    return device->start_thread(static_cast<int>(config.eal.cpu),
                                [] { static_cast<void>(register_port_thread()); });
  }
  if (config.engine.drive == Drive::assisted) {
    return device->start_helper([] { static_cast<void>(register_port_thread()); });
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
  if (const Status s = state->open_port(); !s) {
    return pass_on(s.error());
  }
  if (const Status s = state->open_device(); !s) {
    return pass_on(s.error());
  }
  auto telemetry = Telemetry::start(config, *state->device);
  if (!telemetry) {
    return pass_on(telemetry.error());
  }
  state->telemetry = std::move(*telemetry);
  return std::unique_ptr<Endpoint>(new Endpoint(std::move(state)));
}

verbs::Device& Endpoint::device() {
  return *state_->device;
}
const Config& Endpoint::config() const {
  return state_->config;
}

void Endpoint::poll() {
  if (state_->config.engine.drive != Drive::lcore) {
    state_->device->poll();
  } else {
    sched_yield();
  }
}

bool Endpoint::link_up() {
  return state_->device->link_up();
}

void Endpoint::linger() {
  constexpr timespec kNap{0, 500'000};
  const Instant until = state_->device->peers_may_ask_until();
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
