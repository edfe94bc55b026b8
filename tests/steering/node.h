// Nodes of several queues in memory: a frame that is sent on the i-th queue of one node arrives on
// the queue of the other that the test chooses, the i-th unless it says otherwise. Buffers come
// from one pool, as those of a device do. Thread: one.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "port/buffer_pool.h"
#include "port/port.h"
#include "steering/steered_port.h"

namespace roce::test {

struct Wire {
  explicit Wire(uint32_t buffers) : pool(buffers, kMtu), buffers_(buffers) {}

  static constexpr uint32_t kMtu = 4200;

  BufferPool pool;
  /// The queue on which a frame arrives that was sent on queue `i`.
  std::function<uint32_t(uint32_t i)> arrives_on = [](uint32_t i) { return i; };
  bool accepts = true;

  bool all_home() const { return pool.available() == buffers_; }

 private:
  size_t buffers_;
};

class QueuePort final : public Port {
 public:
  using Queues = std::vector<std::deque<Frame>>;

  QueuePort(Wire& wire, PortInfo info, uint32_t index, Queues& in, Queues& out)
      : wire_(wire), info_(std::move(info)), index_(index), in_(in[index]), out_(out) {}
  ~QueuePort() override { release_all(); }

  const PortInfo& info() const override { return info_; }
  bool link_up() override { return true; }
  size_t rx_burst(Instant /*now*/, std::span<Frame> frames) override {
    size_t n = 0;
    for (; n < frames.size() && !in_.empty(); ++n) {
      frames[n] = in_.front();
      in_.pop_front();
    }
    stats_.rx_frames += n;
    return n;
  }
  size_t alloc(std::span<Frame> frames) override { return wire_.pool.take(frames); }
  size_t tx_burst(Instant /*now*/, std::span<Frame> frames) override {
    if (!wire_.accepts) {
      return 0;
    }
    for (const Frame& frame : frames) {
      out_[wire_.arrives_on(index_)].push_back(frame);
    }
    stats_.tx_frames += frames.size();
    return frames.size();
  }
  void release(std::span<Frame> frames) override {
    for (const Frame& frame : frames) {
      wire_.pool.give(frame.cookie);
    }
  }
  uint64_t gather_done() override { return 0; }
  PortStats stats() const override { return stats_; }

 private:
  void release_all() {
    for (Frame& frame : in_) {
      release({&frame, 1});
    }
    in_.clear();
  }

  Wire& wire_;
  PortInfo info_;
  uint32_t index_;
  std::deque<Frame>& in_;
  Queues& out_;
  PortStats stats_;
};

/// Two nodes, each with `count` steered ports.
struct TwoNodes {
  explicit TwoNodes(uint32_t count, bool loops_back = false, uint32_t buffers = 8192)
      : wire(buffers), queues{QueuePort::Queues(count), QueuePort::Queues(count)} {
    for (uint8_t node = 0; node < 2; ++node) {
      auto steering = std::make_shared<Steering>(count, loops_back);
      for (uint32_t i = 0; i < count; ++i) {
        auto queue = std::make_unique<QueuePort>(
            wire, PortInfo{.name = "node", .mac = mac(node), .mtu = kMtu, .max_segments = 4}, i,
            queues[node], queues[1 - node]);
        ports[node].push_back(std::make_unique<SteeredPort>(std::move(queue), steering, i));
      }
    }
  }

  static constexpr uint32_t kMtu = Wire::kMtu - 100;  // longer frames come in all the same

  static MacAddress mac(uint8_t node) { return {{0x02, 0, 0, 0, 0, node}}; }

  Wire wire;
  std::array<QueuePort::Queues, 2> queues;
  std::array<std::vector<std::unique_ptr<SteeredPort>>, 2> ports;
};

}  // namespace roce::test
