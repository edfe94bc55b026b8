// Plan: how a run uses memory and queues; both ends derive the same one from what they agreed on.
//
// Without validation all messages share one place. With it, each message under way has a place of
// its own, at both ends, and each byte of each message is compared:
// - SEND: the receiver compares before it posts the place again.
// - WRITE: messages go round a ring of kGroups groups of places. After each group the sender SENDs
//   a notice with the number of messages so far; the receiver compares them and SENDs that number
//   back as a credit; a group is only written again after its credit.
// - WRITE with immediate: over RC each takes a receive, which is posted again after the comparison;
//   with fewer receives than places no message is overwritten before it was compared. UC has no
//   such brake, and goes by notices and credits as well.
// - READ: the server's places hold patterns of their own, one place more than the client has. So a
//   place at the client never expects what it held before, and a READ that placed nothing shows.
// - Atomics: all of a queue pair go to one word, which counts them (counted_word.h).
//
// Over UC and UD messages may be lost. SENDs carry their number then, so that the receiver knows
// which are missing; notices are repeated until their credit has come.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "common/run/connection.h"
#include "options.h"

namespace uroce::bw {

struct Plan {
  static constexpr uint64_t kGroups = 4;
  /// Notices or credits that may be under way, and one for the end of the run.
  static constexpr uint32_t kNotices = 2 * kGroups;

  explicit Plan(const Options& options);

  app::Operation operation;
  app::Transport transport;
  bool srq;             ///< one for all queue pairs
  uint64_t size;        ///< of a message
  uint64_t stride;      ///< distance of places
  uint64_t places;      ///< at the sender; at the receiver one more, for READ
  uint64_t iterations;  ///< messages of a queue pair; UINT64_MAX: the duration decides
  uint32_t duration_s;  ///< 0: iterations decide
  bool validate;
  uint64_t seed;
  uint32_t send_depth;  ///< messages under way
  uint32_t recv_depth;  ///< receives
  uint32_t queue_pairs;
  uint32_t post_list;      ///< messages posted in one call
  uint32_t cq_moderation;  ///< messages a completion
  bool both_ways;          ///< queue_pairs for each direction
  bool inlined;
  bool no_peak;
  double rate;  ///< messages a second of all queue pairs; 0: no limit
  uint32_t burst;

  /// Bytes of memory for a queue pair, at each end.
  uint64_t memory() const { return (places + 1) * stride; }
  /// Messages are told and credited in groups.
  bool credited() const {
    return validate && (operation == app::Operation::write ||
                        (operation == app::Operation::write_imm && unreliable()));
  }
  bool unreliable() const { return transport != app::Transport::rc; }
  /// Whether the receiving program sees messages.
  bool seen() const { return takes_receive(operation) || credited(); }
  /// Bytes in front of a received message.
  uint64_t head() const { return transport == app::Transport::ud ? app::kDatagramHead : 0; }
  uint64_t group() const { return places / kGroups; }
  uint64_t ring() const { return group() * kGroups; }
  /// Places of the receiver that messages use in turn.
  uint64_t peer_places() const {
    return credited() ? ring() : validate && !is_atomic(operation) ? places + 1 : 1;
  }

  /// What the queue pair has to hold.
  uint32_t send_queue(bool server) const;
  uint32_t recv_queue(bool server) const;
};

}  // namespace uroce::bw
