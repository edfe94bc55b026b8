// Options: what one schedule is like. Everything follows from its seed: each schedule has only some
// of the operations and faults (a swarm), which finds more than all of them in each.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "base/time.h"
#include "sim/swarm/faults.h"
#include "sim/swarm/network.h"

namespace roce::swarm {

/// What happens at one point of a schedule.
enum class Kind : uint8_t {
  send,     ///< a list of 1 to 4 requests
  receive,  ///< receives, up to the queue's depth
  check,    ///< memory is compared with the model
  bind,     ///< a memory window is bound to the own window of memory
  invalidate,
  reregister,
  pause,    ///< SQD, and back to RTS a little later
  spoil,    ///< a request that must fail
  resize,   ///< of a completion queue
  error,    ///< modify to ERR
  replace,  ///< both ends are reset or destroyed, and connected anew
  join,     ///< a UD queue pair is attached to a multicast group
  leave,    ///< and detached
  destroy,
  deregister,
  partition,
  port_full,
  pool_empty,
  clock_jump,
  starvation,
  restart,
  count,
};

inline constexpr size_t kMaxGroups = 3;  // of multicast
inline constexpr size_t kKinds = static_cast<size_t>(Kind::count);
const char* name_of(Kind kind);

struct Event {
  Instant at;
  Kind kind = Kind::send;
  uint64_t seed = 0;  ///< of all choices within the event
};

/// Requests that a schedule uses, beside SEND and WRITE.
struct Repertoire {
  bool immediate = false;
  bool read = false;
  bool atomics = false;
  bool atomic_write = false;
  bool flush = false;
  bool windows = false;
  bool inlined = false;
  bool fences = false;
  bool splits = false;
  bool unsignaled = false;
};

struct Options {
  uint64_t seed = 1;
  Faults faults;
  NetworkOptions network;
  Repertoire repertoire;
  size_t ends = 2;
  size_t connections = 2;
  std::vector<ibv_qp_type> types;  ///< to choose from
  size_t max_message = 512;        ///< bytes
  size_t memory = 1u << 16;        ///< bytes of each end
  bool shared_receives = false;
  bool short_receives = false;
  bool near_wrap = false;
  size_t groups = 0;          ///< multicast groups that datagrams may go to
  bool small_queues = false;  ///< completion queues that may overrun
  uint32_t depth = 8;
  uint32_t window_packets = 64;
  size_t held_packets = 0;  ///< that may wait for an earlier one; 0: go-back-N
  Duration turn = Duration::from_us(1);
  double lazy = 0;  ///< share of turns in which the application does not look at completions
  uint8_t timeout = 8;
  uint8_t retry_cnt = 7;
  uint8_t rnr_retry = 7;
  uint8_t min_rnr_timer = 1;
  uint8_t rd_atomic = 4;
  bool settled = false;       ///< engines and applications never lag: a script can say what they do
  bool only_traffic = false;  ///< no event but requests and receives
  size_t events = 40;
  Duration spacing = Duration::from_us(10);  ///< mean, between events

  /// Frames may have been changed on the way and still be valid: little can be promised.
  bool forged() const { return faults.forge > 0; }
};

/// The schedule of a seed.
Options draw_options(uint64_t seed);
/// Its events, in the order of time.
std::vector<Event> draw_plan(const Options& options);
/// One schedule of the count table: RC, nothing but that much loss.
Options counted_options(uint64_t seed, double loss, size_t held_packets);

}  // namespace roce::swarm
