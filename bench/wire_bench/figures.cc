// Streams and round trips of small messages, streams of large ones, and the goals of each on the
// wires that have goals.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire_bench/figures.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "wire/bth.h"
#include "wire/ethernet.h"
#include "wire/icrc.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/reth.h"
#include "wire/udp.h"

namespace uroce::wire_bench {
namespace {

using roce::Duration;
using roce::PortKind;
using roce::Side;
namespace wire = roce::wire;

constexpr uint32_t kSmall = 64;
constexpr uint32_t kTiny = 8;
constexpr uint32_t kLarge = 1u << 20;
constexpr uint32_t kSmallPlaces = 64;  // small payloads that have a place of their own
constexpr Duration kWarmUp = Duration::from_ms(100);
constexpr Duration kSlack = Duration::from_ms(50);  // a sender outlives the receiver's measuring
constexpr double kMega = 1e-6;
constexpr double kMicro = 1e-3;  // ns to us
constexpr double kGigabits = 8e-9;

/// What a measurement moves.
struct Kind {
  std::string_view name;
  std::string_view tail;  ///< name of the 99th percentile's figure; empty for streams
  std::string_view verb;
  Task task;
  uint32_t size;
};

constexpr std::array<Kind, 7> kKinds{{
    {"W64", "", "64 B WRITE", Task::write, kSmall},
    {"S64", "", "64 B SEND", Task::send, kSmall},
    {"W1M", "", "1 MiB WRITE", Task::write, kLarge},
    {"S1M", "", "1 MiB SEND", Task::send, kLarge},
    {"R1M", "", "1 MiB READ", Task::read, kLarge},
    {"LAT8", "LAT8P99", "8 B there and back", Task::ping, kTiny},
    {"LAT64", "LAT64P99", "64 B there and back", Task::ping, kSmall},
}};

/// The goal of a stream or of median round trips.
Goal goal_of(const Kind& kind, const Wire& w) {
  const bool trip = kind.task == Task::ping;
  const bool large = kind.size == kLarge;
  if (w.kind == PortKind::virtio_user && w.packed) {
    if (trip) {
      return {.id = "P4", .ratio_raw = 1.35};
    }
    return large ? Goal{.id = "P3", .value = 80, .ratio_limit = 0.85}
                 : Goal{.id = "P2", .value = 8, .ratio_raw = 0.4};
  }
  if (w.kind == PortKind::memif && kind.task != Task::read && kind.size != kTiny) {
    return {.id = "P11b", .value = trip ? 1.9 : large ? 25.0 : 4.0};
  }
  return {};
}

Goal tail_goal(const Wire& w) {
  return w.kind == PortKind::virtio_user && w.packed ? Goal{.id = "P4", .ratio_raw = 1.5} : Goal{};
}

Phase both(Task passive, Task active, uint32_t size, Duration measured, double scale) {
  Phase p;
  p.passive = {.task = passive, .size = size, .warm_up = kWarmUp, .measured = measured};
  p.active = p.passive;
  p.active.task = active;
  p.scale = scale;
  return p;
}

/// As both(), with a sender whose receiver measures.
Phase measured_by_receiver(Task passive, Task active, uint32_t size, Duration measured,
                           double scale) {
  Phase p = both(passive, active, size, measured, scale);
  p.active.measured = measured + kSlack;
  p.at_passive = true;
  return p;
}

Phase uroce_phase(const Kind& kind, Duration measured) {
  const double scale = kind.task == Task::ping ? kMicro
                       : kind.size == kLarge   ? kLarge * kGigabits
                                               : kMega;
  switch (kind.task) {
    case Task::send:
      return measured_by_receiver(Task::receive, Task::send, kind.size, measured, scale);
    case Task::ping:
      return both(Task::pong, Task::ping, kind.size, measured, scale);
    default:
      return both(Task::serve, kind.task, kind.size, measured, scale);
  }
}

/// Bytes of a packet beside its payload. A WRITE's only packet has a RETH; so have few of a large
/// one's.
uint32_t around_payload(const Kind& kind, const Wire& w) {
  const size_t ip = w.ipv4 ? wire::Ipv4Header::kSize : wire::Ipv6Header::kSize;
  const size_t reth = kind.task == Task::write && kind.size != kLarge ? wire::Reth::kSize : 0;
  return static_cast<uint32_t>(wire::EthernetHeader::kSize + ip + wire::UdpHeader::kSize +
                               wire::Bth::kSize + reth + wire::kIcrcSize);
}

/// Bare frames like uroce's, sent where uroce's payloads are: a READ's come from the passive end.
Phase bare_phase(const Kind& kind, const Wire& w, Duration measured) {
  const uint32_t payload = kind.size == kLarge ? w.path_mtu : kind.size;
  const uint32_t frame = around_payload(kind, w) + payload;
  if (kind.task == Task::ping) {
    return both(Task::raw_pong, Task::raw_ping, frame, measured, kMicro);
  }
  Phase p = measured_by_receiver(Task::raw_receive, Task::raw_send, frame, measured,
                                 kind.size == kLarge ? payload * kGigabits : kMega);
  p.active_side = kind.task == Task::read ? Side::a : Side::b;
  return p;
}

Phase limit_phase(const Kind& kind, const Wire& w, Duration measured) {
  Phase p = bare_phase(kind, w, measured);
  for (Command* c : {&p.passive, &p.active}) {
    c->payload = kind.size == kLarge ? w.path_mtu : kind.size;
    c->memory = kind.size == kLarge ? kLarge : kind.size * kSmallPlaces;
  }
  return p;
}

Measurement measurement(const Kind& kind, const Wire& w, Duration measured) {
  const bool trip = kind.task == Task::ping;
  const Phase raw = bare_phase(kind, w, measured);
  Measurement m;
  m.figure.name = kind.name;
  m.figure.what = fmt::format("{}, {} B frames", kind.verb, raw.active.size);
  m.figure.unit = trip ? "us" : kind.size == kLarge ? "Gbit/s" : "Mmsg/s";
  m.figure.goal = goal_of(kind, w);
  if (trip) {
    m.tail = m.figure;
    m.tail->name = kind.tail;
    m.tail->what = fmt::format("{}, 99th percentile", kind.verb);
    m.tail->goal = tail_goal(w);
  }
  m.phases = {raw, limit_phase(kind, w, measured), uroce_phase(kind, measured)};
  return m;
}

}  // namespace

std::vector<std::string> measurement_names() {
  std::vector<std::string> names;
  names.reserve(std::size(kKinds));
  for (const Kind& kind : kKinds) {
    names.emplace_back(kind.name);
  }
  return names;
}

std::vector<Measurement> all_measurements(const Wire& wire, Duration measured, bool best_slices) {
  std::vector<Measurement> all;
  all.reserve(std::size(kKinds));
  for (const Kind& kind : kKinds) {
    all.push_back(measurement(kind, wire, measured));
    for (Phase& p : all.back().phases) {
      p.passive.best_slices = p.active.best_slices = best_slices;
    }
  }
  return all;
}

}  // namespace uroce::wire_bench
