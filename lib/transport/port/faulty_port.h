// FaultyPort: puts the faults of a bad network on top of any port: loss, duplication, corruption,
// reordering, delay. Repeatable: all chance comes from one seed, all time from `now`. Owns the
// frames that it holds back, which it gives to the port below in the end.
//
// Faults strike received frames, not sent ones: a received frame is whole and in memory of the
// port, so it can be changed, copied and kept, while a sent one may point into user memory whose
// release the port below counts. To disturb both ways of a link, wrap both ends.
//
// Only RoCE frames are struck: IPv4 or IPv6, with at most one VLAN tag, whole UDP datagrams to port
// 4791. ARP, neighbour discovery and all else pass at once and untouched, so that who can reach
// whom never depends on the seed.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "port/fault_config.h"
#include "port/wrapping_port.h"

namespace roce {

/// What a FaultyPort has done since it was made.
struct FaultCounters {
  uint64_t seen = 0;            ///< RoCE frames received from the port below
  uint64_t lost = 0;            ///< of these, not handed up
  uint64_t duplicated = 0;      ///< copies made
  uint64_t not_copied = 0;      ///< copies left out, since the port below had no buffer
  uint64_t corrupted = 0;       ///< frames and copies with flipped bits, or cut short
  uint64_t delayed = 0;         ///< frames and copies held for a time
  uint64_t reordered = 0;       ///< frames and copies held for others to pass
  uint64_t released_early = 0;  ///< handed up before their time, since too many were held
};

/// A frame meets the faults in this order: loss, duplication, then, the copy by itself, corruption,
/// delay, reordering.
///
/// Corruption flips 1..3 bits, which a 32-bit CRC always finds where it covers them, or cuts the
/// frame to any shorter length of at least one byte. It may hit bytes that no checksum covers, such
/// as the source MAC; such a frame is still good.
///
/// Frames delayed by different times overtake each other. A reordered frame waits until 1..16
/// others have been handed up, or kReorderHold has gone by.
class FaultyPort final : public WrappingPort {
 public:
  /// At most this many frames wait for their time; then the earliest is handed up to make room.
  static constexpr size_t kMaxDelayed = 1024;
  /// At most this many frames wait for others to pass; then the oldest is handed up.
  static constexpr size_t kMaxReordered = 64;
  static constexpr uint32_t kMaxPassing = 16;
  static constexpr Duration kReorderHold = Duration::from_us(100);

  /// Requires: shares are 0..1, loss_burst >= 1, 0 <= delay_min <= delay_max (checked).
  FaultyPort(Port& below, const FaultConfig& config);
  FaultyPort(std::unique_ptr<Port> below, const FaultConfig& config);
  /// Gives all held frames back to the port below.
  ~FaultyPort() override;

  size_t rx_burst(Instant now, std::span<Frame> frames) override;

  /// The earliest of: a held frame's time, the event of the port below. Not later than now when a
  /// frame can be had at once.
  Instant next_event() const override;

  /// Those of the port below, except: rx_frames counts what was handed up here, and lost frames
  /// count as missed too.
  PortStats stats() const override;

  const FaultCounters& counters() const { return counters_; }

 private:
  static constexpr size_t kBurst = 32;

  struct Delayed {
    Instant due;
    uint64_t serial = 0;  ///< breaks ties, so that equal delays keep the order
    Frame frame;
  };
  struct Waiting {
    Instant due;             ///< handed up then at the latest
    uint64_t passed_by = 0;  ///< handed up once emitted_ has got here
    Frame frame;
  };
  static bool later(const Delayed& a, const Delayed& b);

  void prepare();
  void receive(Instant now, std::span<const Frame> frames);
  void strike(Instant now, Frame frame);
  Frame copy_of(const Frame& frame);
  void place(Instant now, Frame frame);
  void corrupt(Frame& frame);
  void reorder_stage(Instant now, const Frame& frame);
  void release_earliest_delayed(Instant now);
  void release_due(Instant now);
  void emit(const Frame& frame);
  void push_ready(const Frame& frame);
  Frame take_waiting(size_t i);
  size_t hand_up(std::span<Frame> frames);

  const FaultConfig config_;
  Prng prng_;
  double burst_start_ = 0;   ///< chance that a frame begins a run of lost ones
  uint32_t burst_left_ = 0;  ///< frames still to lose in this run
  FaultCounters counters_;
  std::array<Frame, kBurst> burst_;
  uint64_t serial_ = 0;
  uint64_t emitted_ = 0;          ///< frames that ever entered ready_
  uint64_t handed_up_ = 0;        ///< frames that ever left it
  std::vector<Delayed> delayed_;  ///< a heap, the earliest first
  std::vector<Waiting> waiting_;  ///< in order of arrival, hence of due
  std::vector<Frame> ready_;      ///< a ring of a power of two, indexed by the two counters
};

}  // namespace roce
