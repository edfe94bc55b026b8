// Drawing schedules.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/swarm/options.h"

#include <algorithm>
#include <array>

#include "base/prng.h"

namespace roce::swarm {
namespace {

constexpr Instant kStart{1'000'000'000};

constexpr std::array<const char*, kKinds> kKindNames = {
    "send",       "receive",   "check",     "bind",       "invalidate", "reregister", "pause",
    "spoil",      "resize",    "error",     "replace",    "join",       "leave",      "destroy",
    "deregister", "partition", "port_full", "pool_empty", "clock_jump", "starvation", "restart"};

/// The share of a fault of frames.
double draw_share(Prng& prng, double most) {
  // Rather small than large.
  const double u = prng.unit();
  return most * u * u;
}

void draw_frame_faults(Prng& prng, Faults& f) {
  const auto some = [&prng](double& share, double chance, double most) {
    if (prng.chance(chance)) {
      share = draw_share(prng, most);
    }
  };
  some(f.loss, 0.5, 0.3);
  some(f.burst, 0.2, 0.1);
  some(f.duplicate, 0.4, 0.3);
  some(f.reorder, 0.4, 0.3);
  some(f.delay, 0.3, 0.1);
  some(f.corrupt, 0.2, 0.1);
  some(f.truncate, 0.1, 0.05);
  some(f.forge, 0.06, 0.1);
}

void draw_event_faults(Prng& prng, Faults& f) {
  const auto some = [&prng](double& share, double chance, double most) {
    if (prng.chance(chance)) {
      share = draw_share(prng, most);
    }
  };
  some(f.partition, 0.15, 0.1);
  some(f.port_full, 0.2, 0.2);
  some(f.pool_empty, 0.2, 0.2);
  some(f.clock_jump, 0.1, 0.1);
  some(f.starvation, 0.2, 0.2);
  some(f.restart, 0.1, 0.05);
  some(f.destroy, 0.2, 0.1);
  some(f.deregister, 0.15, 0.1);
}

Repertoire draw_repertoire(Prng& prng) {
  Repertoire r;
  for (bool* on : {&r.immediate, &r.read, &r.atomics, &r.atomic_write, &r.flush, &r.windows,
                   &r.inlined, &r.fences, &r.splits, &r.unsignaled}) {
    *on = prng.chance(0.6);
  }
  return r;
}

/// Shares of the events of a plan; they need not sum up to one.
std::array<double, kKinds> shares(const Options& o, Prng& prng) {
  std::array<double, kKinds> s{};
  const auto set = [&s](Kind kind, double share) { s[static_cast<size_t>(kind)] = share; };
  const auto sometimes = [&prng](double chance, double share) {
    return prng.chance(chance) ? share : 0;
  };
  set(Kind::send, 1);
  set(Kind::receive, 0.2);
  if (o.only_traffic) {
    return s;
  }
  set(Kind::check, 0.05);
  set(Kind::bind, o.repertoire.windows ? 0.08 : 0);
  set(Kind::invalidate, o.repertoire.windows ? 0.05 : 0);
  set(Kind::reregister, sometimes(0.15, 0.03));
  set(Kind::pause, sometimes(0.2, 0.03));
  set(Kind::spoil, sometimes(0.15, 0.03));
  set(Kind::resize, sometimes(0.2, 0.03));
  set(Kind::error, sometimes(0.15, 0.03));
  set(Kind::replace, sometimes(0.2, 0.03));
  set(Kind::join, o.groups > 0 ? 0.15 : 0);
  set(Kind::leave, o.groups > 0 ? 0.05 : 0);
  set(Kind::destroy, o.faults.destroy);
  set(Kind::deregister, o.faults.deregister);
  set(Kind::partition, o.faults.partition);
  set(Kind::port_full, o.faults.port_full);
  set(Kind::pool_empty, o.faults.pool_empty);
  set(Kind::clock_jump, o.faults.clock_jump);
  set(Kind::starvation, o.faults.starvation);
  set(Kind::restart, o.faults.restart);
  return s;
}

void draw_sizes(Prng& prng, Options& o) {
  constexpr std::array<size_t, 5> kSizes = {16, 300, 1100, 4200, 17'000};
  o.max_message = kSizes[prng.below(kSizes.size())];
  if (o.max_message > 10'000) {
    o.events = 10 + prng.below(30);
    o.depth = 2 + prng.below(3);
    o.connections = 1 + prng.below(2);
  }
  if (prng.below(2000) == 0) {
    o.max_message = 1u << 20;
    o.events = 15;
    o.depth = 2;
    o.connections = 1;
  }
  if (o.max_message > 4'000) {
    o.depth = std::min(o.depth, 6u);
  }
  const size_t needed = (o.max_message + 128) * (o.depth * 2 + 4) * 2 * o.connections;
  while (o.memory < needed) {
    o.memory *= 2;
  }
}

/// Drawn apart from the rest, so that a seed's other draws are what they were without them.
void draw_rarities(Options& o) {
  Prng prng(o.seed ^ 0x72617265);
  const bool datagrams = std::find(o.types.begin(), o.types.end(), IBV_QPT_UD) != o.types.end();
  if (datagrams && prng.chance(0.6)) {
    o.groups = 1 + prng.below(kMaxGroups);
  }
  if (prng.chance(0.06)) {
    o.small_queues = true;
    o.lazy = 0.3 + prng.unit() * 0.6;
    // Whose completion was lost is not known of a shared receive queue's entry.
    o.shared_receives = false;
  }
}

}  // namespace

const char* name_of(Kind kind) {
  return kKindNames[static_cast<size_t>(kind)];
}

Options draw_options(uint64_t seed) {
  Prng prng(seed);
  Options o;
  o.seed = seed;
  o.repertoire = draw_repertoire(prng);
  if (!prng.chance(0.1)) {
    draw_frame_faults(prng, o.faults);
    draw_event_faults(prng, o.faults);
  }
  o.network.latency = Duration::from_ns(200 + prng.below(5'000));
  o.network.burst_length = 1 + prng.below(16);
  o.network.reorder_by = Duration::from_us(1 + prng.below(20));
  o.network.delay_by = Duration::from_us(20 + prng.below(600));
  o.ends = 2 + (prng.chance(0.2) ? 1u : 0u);
  o.connections = 1 + prng.below(4);
  o.types = {IBV_QPT_RC};
  if (prng.chance(0.4)) {
    o.types.push_back(IBV_QPT_UC);
  }
  if (prng.chance(0.3)) {
    o.types.push_back(IBV_QPT_UD);
  }
  o.shared_receives = prng.chance(0.3);
  o.short_receives = prng.chance(0.1);
  o.near_wrap = prng.chance(0.5);
  o.depth = 1 + prng.below(12);
  o.window_packets = prng.chance(0.5) ? 1 + prng.below(16) : 64;
  o.turn = Duration::from_ns(300 + prng.below(3'000));
  o.lazy = prng.chance(0.3) ? prng.unit() * 0.9 : 0;
  o.timeout = static_cast<uint8_t>(6 + prng.below(4));
  o.retry_cnt = static_cast<uint8_t>(prng.chance(0.7) ? 7 : prng.below(7));
  o.rnr_retry = static_cast<uint8_t>(prng.chance(0.7) ? 7 : prng.below(7));
  o.min_rnr_timer = static_cast<uint8_t>(1 + prng.below(10));
  o.rd_atomic = static_cast<uint8_t>(1 + prng.below(8));
  o.events = 10 + prng.below(70);
  o.spacing = Duration::from_ns(500 + prng.below(20'000));
  draw_sizes(prng, o);
  o.held_packets = prng.chance(0.3) ? 0 : prng.chance(0.5) ? 512 : 1 + prng.below(16);
  draw_rarities(o);
  return o;
}

std::vector<Event> draw_plan(const Options& options) {
  Prng prng(options.seed ^ 0x706c616e);
  const std::array<double, kKinds> s = shares(options, prng);
  double sum = 0;
  for (const double share : s) {
    sum += share;
  }
  std::vector<Event> plan;
  Instant at = kStart;
  for (size_t i = 0; i < options.events; ++i) {
    double u = prng.unit() * sum;
    size_t kind = 0;
    while (kind + 1 < kKinds && u >= s[kind]) {
      u -= s[kind++];
    }
    at = at + Duration::from_ns(prng.below(static_cast<uint32_t>(2 * options.spacing.ns)));
    plan.push_back({at, static_cast<Kind>(kind), prng.next()});
  }
  return plan;
}

Options counted_options(uint64_t seed, double loss, size_t held_packets) {
  Options o;
  o.held_packets = held_packets;
  o.seed = seed;
  o.faults.loss = loss;
  o.connections = 3;
  o.types = {IBV_QPT_RC};
  o.max_message = 4200;
  o.repertoire.immediate = o.repertoire.read = o.repertoire.atomics = true;
  o.only_traffic = true;
  o.events = 300;
  o.near_wrap = true;
  o.memory = 1u << 20;
  return o;
}

}  // namespace roce::swarm
