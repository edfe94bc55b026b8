// The measurements as tasks of the two ends.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire_bench/yardstick.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace uroce::wire_bench {
namespace {

using roce::Duration;
using roce::Side;
using roce::Status;

constexpr std::array<Side, 2> kSides{Side::a, Side::b};
constexpr Duration kJitterTime = Duration::from_ms(20);

}  // namespace

roce::Result<std::array<EndAddress, 2>> Yardstick::open_both() {
  std::array<EndAddress, 2> addresses;
  // One after the other: a listens, b connects.
  for (size_t i = 0; i < kSides.size(); ++i) {
    const auto opened = pair_.ask(kSides[i], {.task = Task::open});
    if (!opened) {
      return tl::make_unexpected(opened.error());
    }
    addresses[i] = opened->address;
    path_mtu_ = i == 0 ? opened->path_mtu : std::min(path_mtu_, opened->path_mtu);
  }
  return addresses;
}

Status Yardstick::connect_both(const std::array<EndAddress, 2>& addresses) {
  // Both at once: each asks for the other's Ethernet address.
  for (size_t i = 0; i < kSides.size(); ++i) {
    Command connect{.task = Task::connect};
    connect.peer = addresses[1 - i];
    if (auto s = pair_.tell(kSides[i], connect); !s) {
      return s;
    }
  }
  for (const Side side : kSides) {
    if (const auto connected = pair_.hear(side); !connected) {
      return tl::make_unexpected(connected.error());
    }
  }
  return {};
}

Status Yardstick::start(const std::array<roce::Config, 2>& configs) {
  if (auto s = pair_.start(configs); !s) {
    return s;
  }
  const auto addresses = open_both();
  if (!addresses) {
    return tl::make_unexpected(addresses.error());
  }
  if (auto s = connect_both(*addresses); !s) {
    return s;
  }
  const Wire wire{.kind = configs[0].port.kind,
                  .packed = configs[0].port.packed,
                  .ipv4 = addresses->front().gid.is_ipv4(),
                  .path_mtu = path_mtu_};
  measurements_ = all_measurements(wire, plan_.measured, plan_.best_slices);
  if (!plan_.only.empty()) {
    std::erase_if(measurements_, [&](const Measurement& m) {
      return std::find(plan_.only.begin(), plan_.only.end(), m.figure.name) == plan_.only.end();
    });
  }
  return {};
}

Status Yardstick::measure_lost_time(Measurement& m) {
  for (const Side side : kSides) {
    if (auto s = pair_.tell(side, {.task = Task::jitter, .measured = kJitterTime}); !s) {
      return s;
    }
  }
  for (size_t i = 0; i < kSides.size(); ++i) {
    const auto lost = pair_.hear(kSides[i]);
    if (!lost) {
      return tl::make_unexpected(lost.error());
    }
    m.figure.lost[i].push_back(lost->value);
  }
  return {};
}

Status Yardstick::run_phase(Measurement& m, Way way) {
  const Phase& p = m.phases[static_cast<size_t>(way)];
  const auto done = pair_.run_both(p.passive, p.active, p.active_side);
  if (!done) {
    return roce::failure(done.error().code, fmt::format("{}, {}: {}", m.figure.name, name_of(way),
                                                        done.error().reason));
  }
  const auto& [at_passive, at_active] = *done;
  const Reply& counts = p.at_passive ? at_passive : at_active;
  m.figure.of(way).push_back(counts.value * p.scale);
  if (m.tail) {
    m.tail->of(way).push_back(counts.tail * p.scale);
  }
  odd_frames_ += at_passive.odd + at_active.odd;
  return {};
}

Status Yardstick::run_round(uint32_t round) {
  for (Measurement& m : measurements_) {
    if (auto s = measure_lost_time(m); !s) {
      return s;
    }
    for (size_t i = 0; i < kWays.size(); ++i) {
      if (auto s = run_phase(m, kWays[(i + round) % kWays.size()]); !s) {
        return s;
      }
    }
  }
  return {};
}

roce::Result<Results> Yardstick::results(std::string wire) {
  Results results;
  for (const Side side : kSides) {
    const auto report = pair_.ask(side, {.task = Task::report});
    if (!report) {
      return tl::make_unexpected(report.error());
    }
    results.retransmitted += report->odd;
  }
  results.odd_frames = odd_frames_;
  results.wire = std::move(wire);
  for (Measurement& m : measurements_) {
    results.figures.push_back(m.figure);
    if (m.tail) {
      m.tail->lost = m.figure.lost;
      results.figures.push_back(*m.tail);
    }
  }
  return results;
}

}  // namespace uroce::wire_bench
