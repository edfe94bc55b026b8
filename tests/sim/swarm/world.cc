// The course of a schedule.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/swarm/world.h"

#include <algorithm>
#include <utility>

#include <roce/counters.h>

namespace roce::swarm {
namespace {

NetworkOptions network_options(const Options& o) {
  NetworkOptions n = o.network;
  n.faults = o.faults;
  n.seed = o.seed ^ 0x6e6574;
  return n;
}

bool is_rough(const Faults& faults) {
  return std::any_of(kFaultNames.begin(), kFaultNames.end(),
                     [&](const FaultName& f) { return faults.*f.share > 0; });
}

}  // namespace

World::World(const Options& options, std::vector<Event> plan, Watch watch)
    : options_(options),
      plan_(std::move(plan)),
      watch_(std::move(watch)),
      prng_(options.seed ^ 0x6b657973),
      network_(options.ends, network_options(options)),
      moods_(options.seed ^ 0x6d6f6f64),
      rough_(is_rough(options.faults)) {
  network_.advance(now());
  for (size_t i = 0; i < options.ends; ++i) {
    hosts_.push_back(std::make_unique<Host>());
    hosts_.back()->index = i;
    start_host(*hosts_.back());
  }
  for (size_t i = 0; i < options.connections; ++i) {
    connect_new(options.seed + (i << 32));
  }
}

World::~World() {
  connections_.clear();
  for (const auto& host : hosts_) {
    stop_host(*host, true);
  }
}

void World::fail(const std::string& what) {
  if (problem_.empty()) {
    problem_ = what;
    say("VIOLATION: " + what);
  }
}

void World::say(const std::string& what) {
  if (watch_.tell) {
    watch_.tell(now(), what);
  }
}

Instant World::next_event() const {
  Instant next = network_.next_arrival();
  if (next_in_plan_ < plan_.size()) {
    next = std::min(next, plan_[next_in_plan_].at);
  }
  for (const auto& host : hosts_) {
    next = std::min(next, std::max(host->device->next_event(), host->starved_until));
  }
  for (const auto& c : connections_) {
    if (c->phase == Connection::Phase::live) {
      next = std::min({next, c->repair_at, c->a.resume_at, c->b.resume_at});
    } else if (c->phase == Connection::Phase::closing) {
      next = std::min(next, c->closed_by);
    }
  }
  return next;
}

/// One turn of everybody, then time moves on.
void World::step() {
  network_.advance(now());
  settle();
  while (!failed() && next_in_plan_ < plan_.size() && plan_[next_in_plan_].at <= now()) {
    execute(plan_[next_in_plan_++]);
    network_.advance(now());
    settle();
  }
  turn();
  for (size_t i = 0; i < connections_.size() && !failed(); ++i) {
    look_after(*connections_[i]);
    settle();
  }
  clock_.set(
      std::max(std::min(next_event(), now() + Duration::from_us(100)), now() + options_.turn));
}

void World::turn() {
  for (const auto& host : hosts_) {
    if (now() >= host->starved_until) {
      host->device->poll();
    }
  }
  if (draining_ || !moods_.chance(options_.lazy)) {
    poll_all();
  }
}

/// In settled schedules, turns until nobody has anything to do, as packet scripts do it.
void World::settle() {
  constexpr int kMostTurns = 200;  // a port that takes nothing keeps its engine busy
  if (!options_.settled) {
    return;
  }
  for (const auto& host : hosts_) {
    for (int n = 0; n < kMostTurns && now() >= host->starved_until; ++n) {
      host->device->poll();
      if (host->device->next_event() > now()) {
        break;
      }
    }
    script_drops(*host);
  }
  poll_all();
}

bool World::run_until(const std::function<bool()>& done, Instant limit) {
  while (!failed() && !done()) {
    if (now() > limit) {
      return false;
    }
    step();
  }
  return true;
}

/// How long anything that was posted may take once nothing disturbs it: for each queue pair all
/// retries of a dead peer, and a wait for a receiver each message; the frames that are under way;
/// the packets of everybody.
Duration World::liveness_bound() const {
  const int64_t timeout_ns = int64_t{4096} << options_.timeout;
  constexpr Duration kLongestRnr = Duration::from_us(1000);
  constexpr Duration kForgedRnr =
      Duration::from_ms(656);  // the longest that an RNR NAK can ask for
  size_t requests = 0;
  for (const auto& c : connections_) {
    requests += c->a.sends.size() + c->b.sends.size() + 2;
  }
  const auto packets = static_cast<int64_t>(requests * (options_.max_message / 256 + 2));
  // A connection of which completions were lost is waited for in vain before it is closed.
  const Duration lost =
      options_.small_queues ? (Duration::from_ms(21) + options_.turn * 1000) * 2 : Duration{};
  return lost + Duration::from_ns(timeout_ns) * (options_.retry_cnt + 2) * 2 +
         kLongestRnr * static_cast<int64_t>(requests) +
         (options_.forged() ? kForgedRnr * static_cast<int64_t>(connections_.size() * 2 + 2)
                            : Duration{}) +
         (options_.network.delay_by + options_.network.latency) * 4 +
         options_.turn * (packets + 1000) * 2;
}

/// Nothing that was posted to a live queue pair waits, unless its peer has no memory left to
/// receive into.
bool World::idle() const {
  const auto rests = [](const End& end) {
    return end.sends.empty() || (end.peer->shared != nullptr && end.peer->shared->starved);
  };
  return std::all_of(connections_.begin(), connections_.end(), [&rests](const auto& c) {
    return c->phase == Connection::Phase::closed ||
           (c->phase == Connection::Phase::live && !c->broken && rests(c->a) && rests(c->b));
  });
}

/// Receives for whoever lives. They may have to wait for memory that requests under way take up.
void World::fill_all_receives() {
  for (const auto& c : connections_) {
    if (c->phase == Connection::Phase::live) {
      fill_receives(c->a);
      fill_receives(c->b);
    }
  }
}

/// The faults have stopped: everything completes.
void World::drain() {
  draining_ = true;
  network_.stop_faults();
  for (const auto& host : hosts_) {
    host->starved_until = {};
  }
  for (const auto& c : connections_) {
    for (End* end : {&c->a, &c->b}) {
      if (c->phase == Connection::Phase::live) {
        end->resume_at = std::min(end->resume_at, now());
        post_marker(*end);
      }
    }
  }
  const Duration bound = liveness_bound();
  say("faults have stopped; all must be complete within " + std::to_string(bound.ns / 1000) +
      " us");
  const auto done = [this] {
    fill_all_receives();
    return idle();
  };
  if (!run_until(done, now() + bound)) {
    std::string who;
    for (const auto& c : connections_) {
      for (const End* end : {&c->a, &c->b}) {
        if (!end->sends.empty()) {
          who.append(" ").append(describe(*end));
          if (end->qp) {
            const QpCounters n = end->qp->counters();
            who += " (state " + std::to_string(end->qp->query().qp_state) + ", " +
                   std::to_string(end->sends.size()) + " requests left, " +
                   std::to_string(n.timeouts) + " timeouts, " + std::to_string(n.rnr_naks_rcvd) +
                   " RNR NAKs)";
          }
        }
      }
    }
    fail("not everything completed in time:" + who);
  }
}

void World::close_all() {
  for (const auto& c : connections_) {
    if (c->phase == Connection::Phase::live) {
      close_gently(*c);
    }
  }
  run_until(
      [this] {
        return std::all_of(connections_.begin(), connections_.end(),
                           [](const auto& c) { return c->phase == Connection::Phase::closed; });
      },
      now() + Duration::from_s(1));
}

std::string World::run() {
  const Instant begin = now();
  run_until([this] { return next_in_plan_ == plan_.size(); }, kNever);
  if (!failed()) {
    drain();
  }
  totals_.took = now() - begin;
  totals_.frames = network_.frames();
  for (const auto& host : hosts_) {
    const QpCounters qp = host->device->qp_counters();
    totals_.packets += host->device->counters().sent_packets;
    totals_.retransmitted += qp.retransmitted;
    totals_.timeouts += qp.timeouts;
    totals_.naks += qp.sequence_naks_sent + qp.rnr_naks_sent;
  }
  if (!failed()) {
    close_all();
  }
  for (size_t i = 0; i < hosts_.size() && !failed(); ++i) {
    check_host(*hosts_[i]);
  }
  if (failed()) {
    return problem_;
  }
  connections_.clear();
  for (const auto& host : hosts_) {
    stop_host(*host, false);
  }
  return problem_;
}

}  // namespace roce::swarm
