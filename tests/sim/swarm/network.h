// Network: ports on one simulated switch. A sent frame is judged by the faults, put into a queue
// ordered by time, and arrives when its time has come, if the receiver has a buffer for it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "port/buffer_pool.h"
#include "port/port.h"
#include "sim/swarm/faults.h"

namespace roce::swarm {

struct NetworkOptions {
  Faults faults;
  uint64_t seed = 1;
  Duration latency = Duration::from_us(2);
  Duration reorder_by = Duration::from_us(5);
  Duration delay_by = Duration::from_us(300);
  uint32_t burst_length = 4;  ///< frames
};

inline constexpr uint32_t kPortMtu = 4200;
inline constexpr uint32_t kBuffersPerPort = 256;

class Network;

/// A port of the network. Everything that an engine may see of a port happens here.
class SimPort final : public Port {
 public:
  SimPort(Network& network, size_t index);
  ~SimPort() override;

  const PortInfo& info() const override { return info_; }
  bool link_up() override { return true; }
  size_t rx_burst(Instant now, std::span<Frame> frames) override;
  size_t alloc(std::span<Frame> frames) override;
  size_t tx_burst(Instant now, std::span<Frame> frames) override;
  void release(std::span<Frame> frames) override;
  uint64_t gather_done() override { return 0; }
  Instant next_event() const override { return arrived_.empty() ? kNever : Instant{}; }
  PortStats stats() const override { return stats_; }

  /// Takes no frame until `t`.
  void block_until(Instant t) { blocked_until_ = t; }
  /// Lends no buffer until `t`.
  void empty_until(Instant t) { empty_until_ = t; }
  /// While set, what is sent vanishes: the process behind the port is dead.
  void set_dead(bool dead) { dead_ = dead; }
  /// Shown each frame that is handed over to the engine, or taken from it.
  using Tap = std::function<void(std::span<const uint8_t>, bool sent)>;
  void set_tap(Tap tap) { tap_ = std::move(tap); }
  /// A frame for this port; lost when there is no buffer.
  void arrive(std::span<const uint8_t> bytes);
  /// Buffers that the engine holds.
  size_t lent() const;
  size_t index() const { return index_; }

 private:
  Network& network_;
  size_t index_;
  PortInfo info_;
  BufferPool& pool_;
  std::deque<Frame> arrived_;
  PortStats stats_;
  Instant blocked_until_;
  Instant empty_until_;
  bool dead_ = false;
  Tap tap_;
};

class Network {
 public:
  Network(size_t ports, const NetworkOptions& options);

  SimPort& port(size_t i) { return *ports_[i]; }
  Instant now() const { return now_; }
  /// Hands over what is due.
  void advance(Instant now);
  /// When the next frame arrives; kNever: none is under way.
  Instant next_arrival() const { return flights_.empty() ? kNever : flights_.front().due; }
  /// From here on every frame arrives, once, intact and in time.
  void stop_faults();
  /// Cuts the way from one port to another until `t`.
  void cut(size_t from, size_t to, Instant t);
  /// A port has sent a frame.
  void carry(size_t from, std::span<const uint8_t> bytes);
  /// Frames carried so far.
  uint64_t frames() const { return frames_; }

  static MacAddress mac_of(size_t port);

 private:
  struct Flight {
    Instant due;
    uint64_t serial = 0;
    size_t to = 0;
    std::vector<uint8_t> bytes;
  };

  void send(size_t from, size_t to, std::span<const uint8_t> bytes);
  void launch(size_t to, std::span<const uint8_t> bytes);
  void spoil(std::vector<uint8_t>& bytes);
  void forge(std::vector<uint8_t>& bytes);
  static bool later(const Flight& a, const Flight& b) {
    return a.due != b.due ? a.due > b.due : a.serial > b.serial;
  }

  NetworkOptions options_;
  Prng prng_;
  std::vector<std::unique_ptr<SimPort>> ports_;
  std::vector<Flight> flights_;  // a heap
  std::vector<std::vector<uint8_t>> spare_;
  std::vector<Instant> cut_until_;  // from * ports + to
  std::vector<Instant> last_due_;   // the same: frames keep their order unless a fault breaks it
  Instant now_;
  uint64_t serial_ = 0;
  uint64_t frames_ = 0;
  uint32_t burst_left_ = 0;
};

}  // namespace roce::swarm
