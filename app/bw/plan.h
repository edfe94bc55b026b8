// Plan: how a run uses memory and queues; both ends derive the same one from what they agreed on.
//
// Without validation all messages share one place. With it, each message under way has a place of
// its own, at both ends, and each byte of each message is compared:
// - SEND: the receiver compares before it posts the place again.
// - WRITE: messages go round a ring of kGroups groups of places. After each group the sender SENDs
// a
//   notice with the number of its messages; the receiver compares them and SENDs a credit back; a
//   group is only written again after its credit.
// - WRITE with immediate: each takes a receive, and receives are posted again after the comparison;
//   with fewer receives than places no message is overwritten before it was compared.
// - READ: the server's places hold patterns of their own, one place more than the client has. So a
//   place at the client never expects what it held before, and a READ that placed nothing shows.
// - Atomics: all of a queue pair go to one word, which counts them (counted_word.h).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "options.h"

namespace uroce::bw {

struct Plan {
  static constexpr uint64_t kGroups = 4;
  /// Notices or credits that may be under way, and one for the end of the run.
  static constexpr uint32_t kNotices = 2 * kGroups;

  explicit Plan(const Options& options);

  app::Operation operation;
  uint64_t size;        ///< of a message
  uint64_t stride;      ///< distance of places
  uint64_t places;      ///< at the sender; at the receiver one more, for READ
  uint64_t iterations;  ///< messages of a queue pair; UINT64_MAX: the duration decides
  uint32_t duration_s;  ///< 0: iterations decide
  bool validate;
  uint64_t seed;
  uint32_t send_depth;     ///< messages under way
  uint32_t recv_depth;     ///< receives
  uint32_t post_list;      ///< messages posted in one call
  uint32_t cq_moderation;  ///< messages a completion

  /// Bytes of memory for a queue pair, at each end.
  uint64_t memory() const { return (places + 1) * stride; }
  /// WRITEs are told and credited in groups.
  bool credited() const { return validate && operation == app::Operation::write; }
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
