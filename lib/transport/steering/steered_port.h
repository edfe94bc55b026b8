// SteeredPort: one queue of a device that several engines share, each with a queue and a thread of
// its own. A received frame goes to the engine that has the destination QP: the queue it came on
// should be that engine's, by the device's own steering; where it is not, the frame is handed over
// through a ring. Owns the queue below; the rings belong to Steering, which all of them share.
//
// What neighbours say of themselves (answers and announcements of ARP and neighbour discovery) and
// datagrams to a group every engine gets, in a copy; a request is answered by the engine on whose
// queue it came. Frames that an engine sends to the node itself never reach the device.
//
// Thread: one for each port, its engine's. All ports of a Steering are destroyed only when no
// engine uses any of them any more.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/engine_place.h"
#include "port/wrapping_port.h"
#include "ring/spsc_ring.h"

namespace roce {

/// A frame between two engines, in one piece.
struct HandedFrame {
  uint8_t* data = nullptr;
  void* cookie = nullptr;
  uint32_t len = 0;
};

/// The rings between `count` engines, one for each ordered pair.
class Steering {
 public:
  using Lane = SpscRing<HandedFrame>;

  static constexpr size_t kLaneFrames = 512;

  /// `count`: 2..kMaxEngines (checked). `port_loops_back`: the device hands back what is sent to
  /// its own address. The only place that allocates.
  Steering(uint32_t count, bool port_loops_back);

  uint32_t count() const { return count_; }
  bool port_loops_back() const { return port_loops_back_; }
  Lane& lane(uint32_t from, uint32_t to) { return *lanes_[size_t{from} * count_ + to]; }

 private:
  uint32_t count_;
  bool port_loops_back_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

class SteeredPort final : public WrappingPort {
 public:
  /// The port of the `index`-th engine. Frames of each queue may be released to any other.
  SteeredPort(std::unique_ptr<Port> queue, std::shared_ptr<Steering> steering, uint32_t index);
  ~SteeredPort() override;

  const PortInfo& info() const override { return info_; }
  size_t rx_burst(Instant now, std::span<Frame> frames) override;
  size_t tx_burst(Instant now, std::span<Frame> frames) override;
  /// rx_missed has the frames that a ring had no room for.
  PortStats stats() const override;

 private:
  /// Where a frame belongs.
  enum class Way : uint8_t { here, there, everywhere };
  struct Target {
    Way way = Way::here;
    uint32_t engine = 0;  ///< Way::there
  };

  /// One for each other engine, while buffers last.
  struct Copies {
    std::array<Frame, kMaxEngines> frames;
    size_t count = 0;
  };

  Target target_of(const Frame& frame) const;
  size_t receive(Instant now, std::span<Frame> frames);
  size_t take_handed(std::span<Frame> frames);
  bool stays_inside(const Frame& frame) const;
  bool send_inside(Instant now, Frame& frame);
  Copies copies_of(const Frame& frame);
  void hand_over(Copies copies);
  void hand_over(Frame& frame, uint32_t to);
  void show_handed();

  std::shared_ptr<Steering> steering_;
  const EnginePlace place_;
  PortInfo info_;
  // In the next burst, so that no source of frames starves another.
  bool handed_first_ = false;
  uint32_t next_from_ = 0;
  uint32_t touched_ = 0;  // bit i: something is staged for engine i
  uint64_t rx_handed_over_ = 0;
  uint64_t lost_ = 0;
};

}  // namespace roce
