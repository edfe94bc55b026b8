// The four figures, as tasks of the two ends.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire_bench/yardstick.h"

#include <algorithm>
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
using roce::Side;
using roce::Status;
namespace wire = roce::wire;

constexpr uint32_t kSmall = 64;
constexpr uint32_t kLarge = 1u << 20;
constexpr Duration kWarmUp = Duration::from_ms(100);
constexpr Duration kSlack = Duration::from_ms(50);  // a sender outlives the receiver's measuring
constexpr Duration kJitterTime = Duration::from_ms(100);
constexpr double kMega = 1e-6;
constexpr double kMicro = 1e-3;  // ns to us

constexpr std::array<std::string_view, 4> kIds{"W64", "S64", "BW1M", "LAT64"};

// Frame lengths of uroce's packets between two addresses.
struct FrameLengths {
  uint32_t around = 0;  ///< headers and ICRC of a SEND or a middle packet

  explicit FrameLengths(const roce::Gid& gid)
      : around(static_cast<uint32_t>(
            wire::EthernetHeader::kSize +
            (gid.is_ipv4() ? wire::Ipv4Header::kSize : wire::Ipv6Header::kSize) +
            wire::UdpHeader::kSize + wire::Bth::kSize + wire::kIcrcSize)) {}

  uint32_t send(uint32_t payload) const { return around + payload; }
  uint32_t write_only(uint32_t payload) const {
    return around + static_cast<uint32_t>(wire::Reth::kSize) + payload;
  }
};

// Both commands of a phase, which take the same size and time.
Phase phase(Task passive, Task active, uint32_t size, Duration measured) {
  Phase p;
  p.passive = {.task = passive, .size = size, .warm_up = kWarmUp, .measured = measured};
  p.active = p.passive;
  p.active.task = active;
  return p;
}

// As phase(), with a sender whose receiver measures.
Phase phase_at_receiver(Task passive, Task active, uint32_t size, Duration measured) {
  Phase p = phase(passive, active, size, measured);
  p.active.measured = measured + kSlack;
  p.at_passive = true;
  return p;
}

Phase scaled(Phase p, double scale) {
  p.scale = scale;
  return p;
}

std::vector<Figures> all_figures(const FrameLengths& lengths, uint32_t mtu, Duration measured) {
  const auto raw_stream = [&](uint32_t frame, double scale) {
    return scaled(phase_at_receiver(Task::raw_receive, Task::raw_send, frame, measured), scale);
  };
  const uint32_t write_frame = lengths.write_only(kSmall);
  const uint32_t send_frame = lengths.send(kSmall);
  const uint32_t middle_frame = lengths.send(mtu);
  return {
      {{kIds[0], fmt::format("64 B WRITE rate, raw frames of {} B", write_frame), "Mmsg/s", {}, {}},
       raw_stream(write_frame, kMega),
       scaled(phase(Task::serve, Task::write, kSmall, measured), kMega)},
      {{kIds[1], fmt::format("64 B SEND rate, raw frames of {} B", send_frame), "Mmsg/s", {}, {}},
       raw_stream(send_frame, kMega),
       scaled(phase_at_receiver(Task::receive, Task::send, kSmall, measured), kMega)},
      {{kIds[2], fmt::format("1 MiB WRITE, raw frames of {} B", middle_frame), "Gbit/s", {}, {}},
       raw_stream(middle_frame, mtu * 8e-9),
       scaled(phase(Task::serve, Task::write, kLarge, measured), kLarge * 8e-9)},
      {{kIds[3], fmt::format("64 B SEND there and back, {} B", send_frame), "us", {}, {}},
       scaled(phase(Task::raw_pong, Task::raw_ping, send_frame, measured), kMicro),
       scaled(phase(Task::pong, Task::ping, kSmall, measured), kMicro)},
  };
}

}  // namespace

std::vector<std::string> figure_ids() {
  return {kIds.begin(), kIds.end()};
}

Status Yardstick::start(const std::array<roce::Config, 2>& configs) {
  if (auto s = pair_.start(configs); !s) {
    return s;
  }
  std::array<EndAddress, 2> addresses;
  // One after the other: a listens, b connects.
  for (size_t i = 0; i < 2; ++i) {
    const auto opened = pair_.ask(i == 0 ? Side::a : Side::b, {.task = Task::open});
    if (!opened) {
      return tl::make_unexpected(opened.error());
    }
    addresses[i] = opened->address;
    path_mtu_ = i == 0 ? opened->path_mtu : std::min(path_mtu_, opened->path_mtu);
  }
  // Both at once: each asks for the other's Ethernet address.
  Command connect{.task = Task::connect};
  connect.peer = addresses[1];
  Status told = pair_.tell(Side::a, connect);
  connect.peer = addresses[0];
  if (told) {
    told = pair_.tell(Side::b, connect);
  }
  if (!told) {
    return told;
  }
  for (const Side side : {Side::a, Side::b}) {
    if (const auto connected = pair_.hear(side); !connected) {
      return tl::make_unexpected(connected.error());
    }
  }
  figures_ = all_figures(FrameLengths(addresses[0].gid), path_mtu_, plan_.measured);
  for (Figures& f : figures_) {
    for (Command* c : {&f.raw.passive, &f.raw.active, &f.uroce.passive, &f.uroce.active}) {
      c->best_slices = plan_.best_slices;
    }
  }
  if (!plan_.only.empty()) {
    std::erase_if(figures_, [&](const Figures& f) {
      return std::find(plan_.only.begin(), plan_.only.end(), f.figure.id) == plan_.only.end();
    });
  }
  return {};
}

Status Yardstick::measure_lost_time() {
  for (const Side side : {Side::a, Side::b}) {
    if (auto s = pair_.tell(side, {.task = Task::jitter, .measured = kJitterTime}); !s) {
      return s;
    }
  }
  for (const Side side : {Side::a, Side::b}) {
    const auto lost = pair_.hear(side);
    if (!lost) {
      return tl::make_unexpected(lost.error());
    }
    results_.lost[side == Side::a ? 0 : 1].push_back(lost->value);
  }
  return {};
}

Status Yardstick::run_phase(Figures& f, bool raw) {
  const Phase& p = raw ? f.raw : f.uroce;
  const auto done = pair_.run_both(p.passive, p.active);
  if (!done) {
    return roce::failure(
        done.error().code,
        fmt::format("{}, {}: {}", f.figure.id, raw ? "raw" : "uroce", done.error().reason));
  }
  const auto& [at_passive, at_active] = *done;
  (raw ? f.figure.raw : f.figure.uroce)
      .push_back((p.at_passive ? at_passive : at_active).value * p.scale);
  results_.odd_frames += at_passive.odd + at_active.odd;
  return {};
}

Status Yardstick::run_round(uint32_t round) {
  if (auto s = measure_lost_time(); !s) {
    return s;
  }
  const bool raw_first = round % 2 == 0;
  for (Figures& f : figures_) {
    for (const bool raw : {raw_first, !raw_first}) {
      if (auto s = run_phase(f, raw); !s) {
        return s;
      }
    }
  }
  return {};
}

roce::Result<Results> Yardstick::results(std::string wire) {
  for (const Side side : {Side::a, Side::b}) {
    const auto report = pair_.ask(side, {.task = Task::report});
    if (!report) {
      return tl::make_unexpected(report.error());
    }
    results_.retransmitted += report->odd;
  }
  results_.wire = std::move(wire);
  for (const Figures& f : figures_) {
    results_.figures.push_back(f.figure);
  }
  return results_;
}

}  // namespace uroce::wire_bench
