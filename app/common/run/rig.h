// Rig: what a run stands on at this end: the session, the memory, and a lane for each queue pair.
// Thread: the session's. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/exchange.h"
#include "common/options.h"
#include "common/run/connection.h"
#include "common/run/host_memory.h"
#include "common/run/session.h"

namespace uroce::app {

/// One queue pair with its share of the memory, and what it talks to.
struct Lane {
  Connection connection;
  roce::verbs::Srq* srq = nullptr;  ///< where it receives from, if not from its own queue
  std::span<uint8_t> memory;
  uint32_t lkey = 0;
  uint32_t rkey = 0;
  QpAddress peer;
};

class Rig {
 public:
  /// `options` are the session's, which has completed them.
  Rig(const RunOptions& options, Session session)
      : options_(options), session_(std::move(session)) {}

  /// Takes memory of `bytes` for each queue pair and brings the queue pairs to INIT, with room for
  /// so many requests. They take the endpoint's devices in turn.
  roce::Status set_up(uint64_t bytes, uint32_t send_depth, uint32_t recv_depth);

  /// Tells the other end all parameters and the own addresses, compares, and keeps its addresses.
  roce::Status greet(std::string_view program);
  /// Takes the other end's addresses from elsewhere.
  void set_peer(const Gid& gid, std::span<const QpAddress> qps);
  /// Brings the queue pairs to RTS.
  roce::Status connect();

  Session& session() { return session_; }
  /// For the next run; this one can only be destroyed.
  Session take_session() {
    lanes_.clear();
    return std::move(session_);
  }
  const RunOptions& options() const { return options_; }
  std::span<Lane> lanes() { return lanes_; }
  /// Of all completion queues; null without --events.
  roce::verbs::CompChannel* channel() { return channel_ ? &*channel_ : nullptr; }
  void note_event() { ++events_; }

  /// The session's counters, and the events that were waited for.
  Counters counters();
  const Gid& gid() const { return lanes_.front().connection.gid(); }
  const Gid& peer_gid() const { return peer_gid_; }

 private:
  /// What the queue pairs of one device stand on.
  struct Ground {
    roce::verbs::Pd pd;
    roce::verbs::Mr mr;
  };

  roce::Status create_grounds();
  roce::Status create_shared(const roce::verbs::Pd& pd, uint32_t recv_depth);
  QpAddress address(const Lane& lane) const;

  RunOptions options_;
  Session session_;
  HostMemory memory_;
  std::vector<Ground> grounds_;  // by device
  std::optional<roce::verbs::Srq> srq_;
  std::optional<roce::verbs::CompChannel> channel_;
  std::vector<Lane> lanes_;
  Gid peer_gid_;
  uint64_t events_ = 0;
};

/// All that must be alike at both ends, in words.
Parameters parameters_of(const RunOptions& options);

}  // namespace uroce::app
