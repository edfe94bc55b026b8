// Plan: what both ends' loops have to know, and how they use memory: each lane has places to
// receive into, then places to send from. One message is under way at a time, so that one place to
// receive into is enough (READs come from two in turn); messages that differ from each other are
// sent from several, since a buffer stays the device's until its completion has been polled.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/run/connection.h"
#include "common/run/poster.h"
#include "options.h"

namespace uroce::pingpong {

struct Plan {
  static constexpr uint64_t kReceivePlaces = 2;

  app::Operation operation = app::Operation::send;
  app::Transport transport = app::Transport::rc;
  uint64_t size = 0;
  uint64_t iterations = 0;
  uint32_t recv_depth = 1;
  bool server = false;
  bool stock = false;     ///< the other end is ibv_rc_pingpong, with its contents
  double rate = 0;        ///< messages a second that the client starts; 0: each after the answer
  bool validate = false;  ///< every byte that arrives
  uint64_t seed = 0;      ///< of the contents

  /// Distance of places in memory.
  uint64_t stride() const { return (head() + size + 63) / 64 * 64; }
  /// Bytes in front of a received message.
  uint64_t head() const { return transport == app::Transport::ud ? app::kDatagramHead : 0; }
  /// Messages may be lost. Each end then sends its last one again until the next one has come, and
  /// numbers tell those apart that come twice.
  bool repeats() const { return transport != app::Transport::rc && !stock; }
  /// Messages whose completion has not been polled. Few when they are large.
  uint64_t send_depth() const { return size <= 65536 ? 16 : 2; }
  /// Messages that are all alike share a place, which stays in the cache.
  uint64_t send_places() const { return validate || watches_memory() ? send_depth() : 1; }
  /// Bytes of memory of a lane.
  uint64_t memory() const { return (kReceivePlaces + send_places()) * stride(); }
  /// Only the client works; the server's engine answers.
  bool one_sided() const { return fetches(operation); }
  /// Messages are seen by their last byte.
  bool watches_memory() const { return operation == app::Operation::write; }
  /// How many of all round trips, or READs, are a lane's.
  static uint64_t share_of(size_t lane, size_t lanes, uint64_t all) {
    return all / lanes + (lane < all % lanes ? 1 : 0);
  }
  /// Number of a message in the pattern: odd ones go from server to client.
  static uint64_t number_of(uint64_t message, bool from_server) {
    return 2 * message + (from_server ? 1 : 0);
  }

  app::Messages messages(uint64_t total) const;
};

/// To a stock peer each has a completion: ibv_srq_pingpong takes its queue pairs as they come, so
/// that `total` may not be what a lane gets.
inline app::Messages Plan::messages(uint64_t total) const {
  app::Messages messages{.operation = operation,
                         .size = size,
                         .stride = stride(),
                         .own_offset = kReceivePlaces * stride(),
                         .own_places = send_places(),
                         .total = total,
                         .signal_every = stock ? 1 : static_cast<uint32_t>(send_depth() / 2),
                         .numbered = repeats(),
                         .fill = validate && !stock,
                         .marked = watches_memory(),
                         .pattern = app::Pattern(seed),
                         .number_start = number_of(0, server),
                         .number_step = 2};
  if (one_sided()) {
    // Two sources in turn: what was left from the READ before is never what is expected.
    messages.own_offset = 0;
    messages.own_places = 1;
    messages.peer_places = is_atomic(operation) ? 1 : kReceivePlaces;
    messages.signal_every = 1;
    messages.fill = false;
  }
  return messages;
}

}  // namespace uroce::pingpong
