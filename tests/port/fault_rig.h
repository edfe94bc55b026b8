// Rig: a link with a FaultyPort at one end, for the tests of FaultyPort.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "port/faulty_port.h"
#include "port/loopback_port.h"
#include "port/test_frames.h"

namespace roce::test {

/// A frame as handed up.
struct Received {
  uint64_t number = 0;
  Instant at;
  std::vector<uint8_t> bytes;

  bool operator==(const Received&) const = default;
};

/// A link whose end b is wrapped; sends there and notes what comes out.
class Rig {
 public:
  explicit Rig(const FaultConfig& config, const LoopbackConfig& link = {})
      : link_(link),
        buffers_(link.buffers),
        port_(std::make_unique<FaultyPort>(link_.b(), config)) {}

  void send(const std::vector<uint8_t>& bytes) {
    Frame f;
    ASSERT_EQ(link_.a().alloc({&f, 1}), 1U);
    fill(f, bytes);
    ASSERT_EQ(link_.a().tx_burst(now, {&f, 1}), 1U);
  }

  void poll(size_t burst = 32) {
    std::vector<Frame> frames(burst);
    size_t n = burst;
    while (n == burst) {
      n = port_->rx_burst(now, frames);
      for (Frame& f : std::span(frames).first(n)) {
        received.push_back({number_of(f), now, bytes_of(f)});
      }
      port_->release(std::span(frames).first(n));
    }
  }

  /// Sends `count` numbered frames, 32 each microsecond, and waits for all that is held back.
  void run(uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
      send(roce_bytes(sent_++, 96));
      if (sent_ % 32 == 0) {
        poll();
        now = now + Duration::from_us(1);
      }
    }
    poll();
    while (port_->next_event() != kNever) {
      now = std::max(now, port_->next_event());
      poll();
    }
  }

  std::vector<uint64_t> numbers() const {
    std::vector<uint64_t> all;
    for (const Received& r : received) {
      all.push_back(r.number);
    }
    return all;
  }

  const FaultCounters& counters() const { return port_->counters(); }
  FaultyPort& port() { return *port_; }
  LoopbackLink& link() { return link_; }

  /// True when only held frames are missing from the pool.
  bool no_buffer_lost() {
    port_.reset();
    return link_.free_buffers() == buffers_;
  }

  Instant now{};
  std::vector<Received> received;

 private:
  LoopbackLink link_;
  size_t buffers_;
  std::unique_ptr<FaultyPort> port_;
  uint64_t sent_ = 0;
};

inline constexpr uint64_t kMany = 100'000;

/// True when `count` of kMany fits a share, five standard deviations allowed.
inline testing::AssertionResult fits(uint64_t count, double share) {
  const double n = static_cast<double>(kMany);
  const double off = static_cast<double>(count) - n * share;
  if (off * off <= 25 * n * share * (1 - share)) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << count << " of " << kMany << " is not a share of " << share;
}

inline FaultConfig all_faults(uint64_t seed) {
  FaultConfig c;
  c.loss = 0.02;
  c.loss_burst = 3;
  c.duplicate = 0.03;
  c.corrupt = 0.02;
  c.reorder = 0.04;
  c.delay = 0.1;
  c.delay_min = Duration::from_us(1);
  c.delay_max = Duration::from_us(30);
  c.seed = seed;
  return c;
}

}  // namespace roce::test
