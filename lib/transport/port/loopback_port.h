// LoopbackLink: two ports in one process, tied to each other, for two engines on one thread (tests,
// benches, the simulator). A sent frame crosses by pointer: its buffer comes from a pool that both
// ports share, and belongs to the receiver from then on. Owns both ports and all buffers.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/address.h"
#include "port/port.h"

namespace roce {

/// How many segments a frame sent over a loopback link may carry.
inline constexpr uint32_t kLoopbackSegments = 8;

struct LoopbackConfig {
  uint32_t mtu = 9000;      ///< largest IP packet in bytes
  uint32_t buffers = 4096;  ///< in the shared pool, at least 1
  uint32_t queue = 1024;    ///< frames under way in each direction, at least 1
  MacAddress mac_a{{0x02, 0, 0, 0, 0, 0x0a}};
  MacAddress mac_b{{0x02, 0, 0, 0, 0, 0x0b}};
};

/// Nothing is lost or reordered: tx_burst() refuses what the other side's queue cannot hold.
/// Frames with segments are copied together while they are sent, so gather_done() counts them at
/// once. Thread: one for the link and both its ports.
class LoopbackLink {
 public:
  /// The only place that allocates. Requires the minima in LoopbackConfig (checked).
  explicit LoopbackLink(const LoopbackConfig& config = {});
  ~LoopbackLink();
  LoopbackLink(const LoopbackLink&) = delete;
  LoopbackLink& operator=(const LoopbackLink&) = delete;

  /// The two ends. They live as long as the link.
  Port& a();
  Port& b();

  /// Buffers that neither lie in a queue nor are lent to a caller.
  size_t free_buffers() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace roce
