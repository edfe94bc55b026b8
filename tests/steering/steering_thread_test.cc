// Steering between threads: each engine's thread hands over what its queue brings and takes what is
// for it. Runs under TSan as well.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/prng.h"
#include "port/test_frames.h"
#include "steering/steered_port.h"

namespace roce::test {
namespace {

constexpr uint32_t kEngines = 3;
constexpr uint32_t kFramesAQueue = 20'000;
constexpr size_t kDestQpAt = kNumberAt + 5;
constexpr size_t kCheckAt = kNumberAt + 16;
constexpr size_t kSourceAt = kNumberAt + 20;  // the engine on whose queue the frame came

/// Brings frames to engines drawn at random; buffers are made and freed by whichever thread.
class SourcePort final : public Port {
 public:
  explicit SourcePort(uint32_t engine) : engine_(engine), random_(engine + 1) {}

  const PortInfo& info() const override { return info_; }
  bool link_up() override { return true; }
  size_t rx_burst(Instant /*now*/, std::span<Frame> frames) override {
    const size_t n = std::min<size_t>({frames.size(), kFramesAQueue - made_, 8});
    for (Frame& frame : frames.first(n)) {
      const auto qpn = static_cast<uint32_t>(random_.next() & 0xfffffe);
      std::vector<uint8_t> bytes = roce_bytes(0, kNumberAt + 32);
      store_be24(&bytes[kDestQpAt], qpn);
      store_be<uint32_t>(&bytes[kCheckAt], ~qpn);
      store_be<uint32_t>(&bytes[kSourceAt], engine_);
      auto* const memory = new uint8_t[bytes.size()];
      frame = Frame{.data = memory, .cookie = memory};
      fill(frame, bytes);
    }
    made_ += n;
    return n;
  }
  size_t alloc(std::span<Frame> /*frames*/) override { return 0; }
  size_t tx_burst(Instant /*now*/, std::span<Frame> /*frames*/) override { return 0; }
  void release(std::span<Frame> frames) override {
    for (const Frame& frame : frames) {
      delete[] static_cast<uint8_t*>(frame.cookie);
    }
  }
  uint64_t gather_done() override { return 0; }
  PortStats stats() const override { return {}; }

 private:
  PortInfo info_{.name = "source", .mac = {}, .mtu = 1500};
  uint32_t engine_;
  Prng random_;
  size_t made_ = 0;
};

TEST(SteeringThreads, EveryFrameReachesItsEnginesThread) {
  auto steering = std::make_shared<Steering>(kEngines, false);
  std::vector<std::unique_ptr<SteeredPort>> ports;
  for (uint32_t i = 0; i < kEngines; ++i) {
    ports.push_back(std::make_unique<SteeredPort>(std::make_unique<SourcePort>(i), steering, i));
  }
  // A frame that finds its ring full is lost and counted, so that all are accounted for at the end.
  std::atomic<uint64_t> received{0};
  std::atomic<uint64_t> wrong{0};
  std::array<std::array<uint64_t, kEngines>, kEngines> from{};  // [engine][source]
  std::array<std::atomic<uint64_t>, kEngines> lost{};
  const auto all = [&] {
    uint64_t sum = received;
    for (const auto& l : lost) {
      sum += l;
    }
    return sum == uint64_t{kEngines} * kFramesAQueue;
  };
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kEngines; ++i) {
    threads.emplace_back([&, i] {
      std::array<Frame, 32> burst;
      while (!all()) {
        const size_t n = ports[i]->rx_burst({}, burst);
        for (const Frame& frame : std::span(burst).first(n)) {
          const uint32_t qpn = load_be24(frame.data + kDestQpAt);
          const bool right = EnginePlace{i, kEngines}.owns(qpn) &&
                             load_be<uint32_t>(frame.data + kCheckAt) == ~qpn;
          wrong += right ? 0 : 1;
          ++from[i][load_be<uint32_t>(frame.data + kSourceAt)];
        }
        ports[i]->release(std::span(burst).first(n));
        received += n;
        lost[i] = ports[i]->stats().rx_missed;
        if (n == 0) {
          std::this_thread::yield();
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0u);
  for (const auto& sources : from) {
    for (const uint64_t count : sources) {
      EXPECT_GT(count, 0u);  // every ring has carried something
    }
  }
}

}  // namespace
}  // namespace roce::test
