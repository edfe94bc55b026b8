// The commands below /roce.
// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include <fmt/format.h>

#include "roce/address_text.h"

namespace roce {
namespace {

using Entries = std::vector<std::pair<std::string, TelemetryAnswer::Value>>;

constexpr std::string_view kDevice = "uroce0";
constexpr Duration kPatience = Duration::from_ms(1000);
constexpr auto kFresh = std::chrono::milliseconds(150);

constexpr std::array kCommands = {
    TelemetryCommand{"/roce/list", "Names of the devices. Takes no parameters"},
    TelemetryCommand{"/roce/devices", "What the device is. Takes no parameters"},
    TelemetryCommand{"/roce/ports", "Frames of the port. Takes no parameters"},
    TelemetryCommand{"/roce/qps", "Numbers of the queue pairs. Takes no parameters"},
    TelemetryCommand{"/roce/qp", "One queue pair. Parameters: its number"},
    TelemetryCommand{"/roce/cqs", "Completion queues by handle: capacity. Takes no parameters"},
    TelemetryCommand{"/roce/mrs", "Memory regions by key: bytes. Takes no parameters"},
    TelemetryCommand{"/roce/counters", "What happened to packets. Takes no parameters"},
    TelemetryCommand{"/roce/drops", "Dropped packets by reason. Takes no parameters"},
    TelemetryCommand{
        "/roce/lcores",
        "The CPU of an engine, and its busy share. Parameters: its number, or none: 0"},
};

void add_counters(Entries& entries, const QpCounters& c) {
  entries.insert(entries.end(), {{"retransmitted", c.retransmitted},
                                 {"timeouts", c.timeouts},
                                 {"sequence_naks_rcvd", c.sequence_naks_rcvd},
                                 {"sequence_naks_sent", c.sequence_naks_sent},
                                 {"rnr_naks_rcvd", c.rnr_naks_rcvd},
                                 {"rnr_naks_sent", c.rnr_naks_sent},
                                 {"implied_naks", c.implied_naks},
                                 {"duplicate_requests", c.duplicate_requests},
                                 {"acks_sent", c.acks_sent},
                                 {"retry_exceeded", c.retry_exceeded},
                                 {"rnr_retry_exceeded", c.rnr_retry_exceeded},
                                 {"cnps_sent", c.cnps_sent},
                                 {"cnps_rcvd", c.cnps_rcvd}});
}

Entries counters(const verbs::Snapshot& s) {
  Entries entries = {{"rcvd_packets", s.engine.rcvd_packets},
                     {"sent_packets", s.engine.sent_packets},
                     {"rcvd_other", s.engine.rcvd_other},
                     {"rcvd_cnp", s.engine.rcvd_cnp},
                     {"rcvd_ce", s.engine.rcvd_ce},
                     {"looped_packets", s.engine.looped_packets},
                     {"dropped", s.engine.dropped}};
  add_counters(entries, s.all_qps);
  return entries;
}

Entries drops(const verbs::Snapshot& s) {
  Entries entries;
  for (size_t i = 1; i < kDropReasonCount; ++i) {
    entries.emplace_back(kDropReasonNames[i], s.engine.drops[i]);
  }
  return entries;
}

Entries port(const verbs::Snapshot& s, const PortInfo& info) {
  return {{"name", info.name},
          {"mac", text_of(info.mac)},
          {"mtu", uint64_t{info.mtu}},
          {"link_up", uint64_t{s.link_up}},
          {"rx_frames", s.port.rx_frames},
          {"tx_frames", s.port.tx_frames},
          {"rx_missed", s.port.rx_missed},
          {"tx_refused", s.port.tx_refused},
          {"alloc_failed", s.port.alloc_failed},
          {"rx_handed_over", s.port.rx_handed_over}};
}

Entries device(const verbs::Snapshot& s, const Config& config) {
  return {{"name", std::string(kDevice)},
          {"pid", static_cast<uint64_t>(::getpid())},
          {"drive", std::string(name_of(config.engine.drive))},
          {"lcores", uint64_t{config.engine.lcores}},
          {"port_kind", std::string(name_of(config.port.kind))},
          {"qps", uint64_t{s.qps.size()}},
          {"cqs", uint64_t{s.cqs.size()}},
          {"mrs", uint64_t{s.mrs.size()}}};
}

Entries queue_pair(const verbs::Snapshot& s, std::string_view number) {
  uint32_t qpn = 0;
  std::from_chars(number.begin(), number.end(), qpn);
  for (const verbs::QpSnapshot& qp : s.qps) {
    if (qp.qpn == qpn) {
      Entries entries = {{"qpn", uint64_t{qp.qpn}},
                         {"remote_qpn", uint64_t{qp.remote_qpn}},
                         {"type", std::string(qp.type)},
                         {"state", std::string(qp.state)},
                         {"pd", uint64_t{qp.pd}},
                         {"pmtu", uint64_t{qp.pmtu}},
                         {"next_psn", uint64_t{qp.next_psn}},
                         {"una_psn", uint64_t{qp.una_psn}},
                         {"in_flight", uint64_t{qp.in_flight}}};
      add_counters(entries, qp.counters);
      return entries;
    }
  }
  return {{"error", fmt::format("there is no queue pair {}; /roce/qps lists them", number)}};
}

Entries queue_pairs(const verbs::Snapshot& s) {
  Entries entries;
  for (const verbs::QpSnapshot& qp : s.qps) {
    entries.emplace_back("", uint64_t{qp.qpn});
  }
  return entries;
}

Entries completion_queues(const verbs::Snapshot& s, uint32_t lcores) {
  Entries entries;
  for (const verbs::CqSnapshot& cq : s.cqs) {
    const std::string engine = lcores > 1 ? fmt::format("{}/", cq.lcore) : "";
    entries.emplace_back(fmt::format("{}{}{}", engine, cq.handle, cq.overrun ? "_overrun" : ""),
                         uint64_t{cq.capacity});
  }
  return entries;
}

Entries regions(const verbs::Snapshot& s) {
  Entries entries;
  for (const verbs::MrSnapshot& mr : s.mrs) {
    entries.emplace_back(fmt::format("0x{:08x}", mr.key), mr.length);
  }
  return entries;
}

}  // namespace

Result<std::unique_ptr<Telemetry>> Telemetry::start(
    const Config& config, const std::vector<const verbs::Device*>& devices) {
  if (!config.telemetry.socket && config.telemetry.prometheus_port == 0) {
    return nullptr;
  }
  std::unique_ptr<Telemetry> made(new Telemetry(config, devices));
  Telemetry* const self = made.get();
  if (config.telemetry.socket) {
    if (const Status s = serve_telemetry(
            kCommands, [self](auto command, auto rest) { return self->answer(command, rest); });
        !s) {
      return tl::make_unexpected(s.error());
    }
  }
  if (config.telemetry.prometheus_port != 0) {
    auto server = PrometheusServer::start(static_cast<uint16_t>(config.telemetry.prometheus_port),
                                          [self] { return self->snapshot().map(prometheus_text); });
    if (!server) {
      return tl::make_unexpected(server.error());
    }
    made->prometheus_ = std::move(*server);
  }
  return made;
}

Telemetry::~Telemetry() {
  stop_telemetry();
}

Telemetry::Telemetry(const Config& config, const std::vector<const verbs::Device*>& devices)
    : config_(config) {
  for (const verbs::Device* device : devices) {
    engines_.push_back({.device = device, .last = {}, .taken = {}});
  }
}

Result<verbs::Snapshot> Telemetry::snapshot(Engine& engine) {
  if (engine.last && std::chrono::steady_clock::now() - engine.taken < kFresh) {
    return *engine.last;
  }
  Result<verbs::Snapshot> fresh = engine.device->snapshot(kPatience);
  if (fresh) {
    engine.last = *fresh;
    engine.taken = std::chrono::steady_clock::now();
  }
  return fresh;
}

/// Of all engines together.
Result<verbs::Snapshot> Telemetry::snapshot() {
  const std::lock_guard lock(mutex_);
  std::vector<verbs::Snapshot> all;
  for (Engine& engine : engines_) {
    Result<verbs::Snapshot> one = snapshot(engine);
    if (!one) {
      return one;
    }
    all.push_back(std::move(*one));
  }
  return verbs::together(all);
}

TelemetryAnswer Telemetry::lcore(std::string_view number) {
  const std::lock_guard lock(mutex_);
  size_t index = 0;
  const auto [end, error] = std::from_chars(number.begin(), number.end(), index);
  const bool is_number = number.empty() || (error == std::errc{} && end == number.end());
  if (!is_number || index >= engines_.size()) {
    return {.entries = {{"error", fmt::format("there is no lcore {}; the last one is {}", number,
                                              engines_.size() - 1)}}};
  }
  Engine& engine = engines_[index];
  const Result<verbs::Snapshot> now = snapshot(engine);
  if (!now) {
    return {.entries = {{"error", now.error().reason}}};
  }
  const uint64_t time = now->time_ns - engine.asked_ns;
  const uint64_t busy = now->busy_ns - engine.asked_busy_ns;
  const uint64_t percent = engine.asked_ns == 0 || time == 0 ? 0 : busy * 100 / time;
  engine.asked_ns = now->time_ns;
  engine.asked_busy_ns = now->busy_ns;
  return {.entries = {{"cpu", static_cast<uint64_t>(std::max(now->cpu, 0))},
                      {"turns", now->turns},
                      {"time_ns", now->time_ns},
                      {"busy_ns", now->busy_ns},
                      {"busy_percent_since_last_asked", std::min<uint64_t>(percent, 100)}}};
}

TelemetryAnswer Telemetry::answer(std::string_view command, std::string_view parameters) {
  if (command == "/roce/list") {
    return {.entries = {{"", std::string(kDevice)}}, .list = true};
  }
  if (command == "/roce/lcores") {
    return lcore(parameters);
  }
  const Result<verbs::Snapshot> seen = snapshot();
  if (!seen) {
    return {.entries = {{"error", seen.error().reason}}};
  }
  const verbs::Snapshot& now = *seen;
  if (command == "/roce/qps") {
    return {.entries = queue_pairs(now), .list = true};
  }
  return {.entries = command == "/roce/devices"    ? device(now, config_)
                     : command == "/roce/ports"    ? port(now, engines_[0].device->port_info())
                     : command == "/roce/qp"       ? queue_pair(now, parameters)
                     : command == "/roce/cqs"      ? completion_queues(now, config_.engine.lcores)
                     : command == "/roce/mrs"      ? regions(now)
                     : command == "/roce/counters" ? counters(now)
                                                   : drops(now)};
}

}  // namespace roce
