// ScriptedPort: the port of a device under test. What it receives and whether it accepts what the
// device sends is up to the script; what was sent can be looked at.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "port/buffer_pool.h"
#include "port/port.h"

namespace roce::script {

class ScriptedPort final : public Port {
 public:
  static constexpr uint32_t kBuffers = 512;

  explicit ScriptedPort(uint32_t mtu)
      : info_{.name = "script", .mac = {{0x02, 0, 0, 0, 0, 1}}, .mtu = mtu}, pool_(kBuffers, mtu) {}

  // --- for the script

  void put(std::vector<uint8_t> frame) { in_.push_back(std::move(frame)); }
  /// The frames that the device has sent since the last call.
  std::vector<std::vector<uint8_t>> take_sent() { return std::exchange(out_, {}); }
  /// Makes tx_burst refuse everything, or not.
  void refuse(bool on) { refusing_ = on; }
  bool refusing() const { return refusing_; }
  void set_link(bool up) { up_ = up; }
  /// Nothing is lent to the device.
  bool all_returned() const { return pool_.available() == kBuffers; }

  // --- Port

  const PortInfo& info() const override { return info_; }
  bool link_up() override { return up_; }

  size_t rx_burst(Instant /*now*/, std::span<Frame> frames) override {
    const size_t n = pool_.take(frames.first(std::min(frames.size(), in_.size())));
    for (Frame& f : frames.first(n)) {
      f.len = static_cast<uint32_t>(in_.front().size());
      std::memcpy(f.data, in_.front().data(), f.len);
      in_.pop_front();
    }
    stats_.rx_frames += n;
    return n;
  }

  size_t alloc(std::span<Frame> frames) override { return pool_.take(frames); }

  size_t tx_burst(Instant /*now*/, std::span<Frame> frames) override {
    if (refusing_) {
      return 0;
    }
    for (const Frame& f : frames) {
      out_.emplace_back(f.data, f.data + f.len);
      pool_.give(f.cookie);
    }
    stats_.tx_frames += frames.size();
    return frames.size();
  }

  void release(std::span<Frame> frames) override {
    for (const Frame& f : frames) {
      pool_.give(f.cookie);
    }
  }

  uint64_t gather_done() override { return 0; }
  Instant next_event() const override { return in_.empty() ? kNever : Instant{}; }
  PortStats stats() const override { return stats_; }

 private:
  const PortInfo info_;
  BufferPool pool_;
  std::deque<std::vector<uint8_t>> in_;
  std::vector<std::vector<uint8_t>> out_;
  PortStats stats_;
  bool refusing_ = false;
  bool up_ = true;
};

}  // namespace roce::script
