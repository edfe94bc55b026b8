// Memory, queue pairs, and the greeting that joins them to the other end's.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/run/rig.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "roce/address_text.h"

namespace uroce::app {
namespace {

using roce::Status;

tl::unexpected<roce::Error> pass_on(const roce::Error& error) {
  return tl::make_unexpected(error);
}

}  // namespace

Status Rig::set_up(uint64_t bytes, uint32_t send_depth, uint32_t recv_depth) {
  auto memory = HostMemory::allocate(bytes * options_.qps);
  if (!memory) {
    return pass_on(memory.error());
  }
  memory_ = std::move(*memory);
  if (auto done = create_grounds(); !done) {
    return done;
  }
  ConnectionOptions options = options_.connection;
  options.send_depth = send_depth;
  options.recv_depth = recv_depth;
  if (auto done = create_shared(grounds_[0].pd, recv_depth); !done) {
    return done;
  }
  const Shared shared{srq_ ? &*srq_ : nullptr, channel_ ? &*channel_ : nullptr};
  for (uint32_t i = 0; i < options_.qps; ++i) {
    const size_t lcore = i % grounds_.size();
    const Ground& ground = grounds_[lcore];
    auto made = Connection::create(session_.device(lcore), ground.pd, options, shared);
    if (!made) {
      return pass_on(made.error());
    }
    lanes_.push_back({.connection = std::move(*made),
                      .srq = srq_ ? &*srq_ : nullptr,
                      .memory = memory_.bytes().subspan(i * bytes, bytes),
                      .lkey = ground.mr.lkey(),
                      .rkey = ground.mr.rkey(),
                      .peer = {}});
  }
  return {};
}

Status Rig::create_grounds() {
  for (size_t i = 0; i < session_.lcores(); ++i) {
    auto pd = session_.device(i).alloc_pd();
    if (!pd) {
      return pass_on(pd.error());
    }
    auto mr = register_memory(session_.device(i), *pd, memory_.bytes());
    if (!mr) {
      return pass_on(mr.error());
    }
    grounds_.push_back({std::move(*pd), std::move(*mr)});
  }
  return {};
}

/// They are one device's.
Status Rig::create_shared(const roce::verbs::Pd& pd, uint32_t recv_depth) {
  if (session_.lcores() > 1 && (options_.connection.use_srq || options_.connection.events)) {
    return roce::failure(EINVAL, fmt::format("--use-srq and --events are for one device, and "
                                             "engine.lcores = {} makes as many; set it to 1",
                                             session_.lcores()));
  }
  if (options_.connection.use_srq) {
    ibv_srq_attr attr{};
    attr.max_wr = std::max(recv_depth, 1U);
    attr.max_sge = 1;
    auto srq = session_.device().create_srq(pd, attr);
    if (!srq) {
      return pass_on(srq.error());
    }
    srq_.emplace(std::move(*srq));
  }
  if (options_.connection.events) {
    auto channel = session_.device().create_comp_channel();
    if (!channel) {
      return pass_on(channel.error());
    }
    // Waits are limited in time, so that the other end and signals are looked at.
    if (::fcntl(channel->fd(), F_SETFL, O_NONBLOCK) != 0) {
      return roce::failure(errno, "the completion channel cannot be made non-blocking");
    }
    channel_.emplace(std::move(*channel));
  }
  return {};
}

QpAddress Rig::address(const Lane& lane) const {
  return {.qpn = lane.connection.qpn(),
          .psn = lane.connection.psn(),
          .rkey = lane.rkey,
          .va = reinterpret_cast<uint64_t>(lane.memory.data()),
          .length = lane.memory.size()};
}

Status Rig::greet(std::string_view program) {
  Hello hello{.program = std::string(program),
              .parameters = parameters_of(options_),
              .endpoint = {.gid = gid(), .qps = {}}};
  const roce::PortKind wire = session_.endpoint().config().port.kind;
  if (wire == roce::PortKind::virtio_user || wire == roce::PortKind::memif) {
    // The queues of the two ends are joined one by one.
    hello.parameters.emplace_back("engine.lcores", fmt::format("{}", session_.lcores()));
  }
  for (const Lane& lane : lanes_) {
    hello.endpoint.qps.push_back(address(lane));
  }
  const auto theirs = exchange_hello(session_.channel(), hello);
  if (!theirs) {
    return pass_on(theirs.error());
  }
  const uint64_t length = lanes_.front().memory.size();
  const bool fits = theirs->qps.size() == lanes_.size() &&
                    std::all_of(theirs->qps.begin(), theirs->qps.end(),
                                [length](const QpAddress& qp) { return qp.length >= length; });
  if (!fits) {
    return roce::failure(EPROTO, fmt::format("the other end's greeting does not name {} queue "
                                             "pairs with their memory; use programs of one version "
                                             "at both ends",
                                             lanes_.size()));
  }
  set_peer(theirs->gid, theirs->qps);
  return {};
}

void Rig::set_peer(const Gid& gid, std::span<const QpAddress> qps) {
  peer_gid_ = gid;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    lanes_[i].peer = qps[i];
  }
}

Status Rig::connect() {
  if (peer_gid_ == gid()) {
    return roce::failure(EINVAL, fmt::format("both ends have the address {}; give each its own, by "
                                             "--set address.ipv4=... or address.ipv6=...",
                                             text_of(gid())));
  }
  for (Lane& lane : lanes_) {
    if (auto done = lane.connection.connect(peer_gid_, lane.peer.qpn, lane.peer.psn); !done) {
      return done;
    }
  }
  return {};
}

Counters Rig::counters() {
  Counters counters = session_.counters();
  if (channel_) {
    counters.emplace_back("completion_events", events_);
  }
  return counters;
}

Parameters parameters_of(const RunOptions& options) {
  const bool counted = options.duration_s == 0;
  return {{"transport", std::string(name_of(options.connection.transport))},
          {"op", std::string(name_of(options.operation))},
          {"size", fmt::format("{}", options.size)},
          {"iters", counted ? fmt::format("{}", options.iterations) : "any"},
          {"duration", fmt::format("{}", options.duration_s)},
          {"qps", fmt::format("{}", options.qps)},
          {"mtu", fmt::format("{}", options.connection.mtu)},
          {"validation", options.validate ? "on" : "off"},
          {"seed", fmt::format("{}", options.seed.value_or(0))}};
}

}  // namespace uroce::app
