// The raw loops measure what passes. Rates are not judged: the machine may be busy.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/dpdk/raw_loops.h"

#include <atomic>
#include <span>
#include <thread>

#include <gtest/gtest.h>

#include "dpdk/ring_pair.h"
#include "port/loopback_port.h"

namespace roce::test {
namespace {

RawConfig short_run() {
  RawConfig config;
  config.frame_len = 256;
  config.warm_up = Duration::from_ms(10);
  config.measured = Duration::from_ms(60);
  config.patience = Duration::from_s(10);
  return config;
}

TEST(RawLoops, StreamIsCountedOnBothSides) {
  RingPair pair;
  RawConfig config = short_run();
  std::atomic<bool> received{false};
  std::thread sender([&] {
    RawConfig long_run = config;
    long_run.measured = Duration::from_s(20);
    long_run.stop = &received;
    const auto tx = raw_stream_tx(pair.a(), long_run);
    ASSERT_TRUE(tx) << tx.error().reason;
    EXPECT_GT(tx->frames, 0U);
  });
  const auto rx = raw_stream_rx(pair.b(), config);
  received = true;
  sender.join();
  ASSERT_TRUE(rx) << rx.error().reason;
  EXPECT_GT(rx->frames, 0U);
  EXPECT_EQ(rx->wrong, 0U);
  EXPECT_GE(rx->elapsed, Duration::from_ms(59));
  EXPECT_LE(rx->slice_p10, rx->slice_p50);
  EXPECT_LE(rx->slice_p50, rx->slice_p90);
}

/// Numbers the frames that it writes, and takes in those with an even number only.
class EvenNumbers final : public RawWork {
 public:
  void write(std::span<uint8_t> packet) override { packet.back() = written_++; }
  bool read(std::span<const uint8_t> packet) override {
    sizes_ok = sizes_ok && packet.size() == short_run().frame_len - 14;
    return packet.back() % 2 == 0;
  }
  bool sizes_ok = true;

 private:
  uint8_t written_ = 0;
};

TEST(RawLoops, CountWhatTheWorkRefuses) {
  RingPair pair;
  EvenNumbers writer;
  EvenNumbers reader;
  std::atomic<bool> received{false};
  std::thread sender([&] {
    RawConfig config = short_run();
    config.measured = Duration::from_s(20);
    config.stop = &received;
    config.work = &writer;
    EXPECT_TRUE(raw_stream_tx(pair.a(), config));
  });
  RawConfig config = short_run();
  config.work = &reader;
  const auto rx = raw_stream_rx(pair.b(), config);
  received = true;
  sender.join();
  ASSERT_TRUE(rx) << rx.error().reason;
  EXPECT_TRUE(reader.sizes_ok);
  EXPECT_GE(rx->wrong + 64, rx->frames / 2);  // a burst may begin before the measured time
  EXPECT_LE(rx->wrong, rx->frames / 2 + 64);
}

TEST(RawLoops, PingMeasuresRoundTrips) {
  RingPair pair;
  RawConfig config = short_run();
  std::atomic<bool> done{false};
  config.stop = &done;
  std::thread answerer([&] { EXPECT_TRUE(raw_pong(pair.b(), config)); });
  config.stop = nullptr;
  const auto trips = raw_ping(pair.a(), config);
  done = true;
  answerer.join();
  ASSERT_TRUE(trips) << trips.error().reason;
  EXPECT_GT(trips->count, 0U);
  EXPECT_GT(trips->min.ns, 0);
  EXPECT_LE(trips->min, trips->p50);
  EXPECT_LE(trips->p50, trips->p99);
}

TEST(RawLoops, SayWhyNothingCanBeMeasured) {
  RingPair pair;
  RawConfig config = short_run();
  config.patience = Duration::from_ms(20);
  EXPECT_EQ(raw_stream_rx(pair.a(), config).error().code, ETIMEDOUT);
  EXPECT_EQ(raw_stream_rx(pair.a(), config).error().reason,
            "no frame came within 20 ms; is the sender running?");
  config.burst = 65;
  EXPECT_EQ(raw_stream_tx(pair.a(), config).error().reason,
            "a burst of 65 frames is outside 1..64");
  config.burst = 32;
  config.frame_len = 1515;
  EXPECT_EQ(raw_ping(pair.a(), config).error().reason, "a frame of 1515 bytes is outside 64..1514");
  config = short_run();
  config.measured = Duration::from_s(3601);
  EXPECT_EQ(raw_ping(pair.a(), config).error().reason,
            "the measured time must be above 0 and at most an hour");
  LoopbackLink link;
  const auto pong = raw_pong(link.a(), short_run());
  EXPECT_EQ(pong.error().code, EINVAL);
  EXPECT_NE(pong.error().reason.find("is not a DPDK device's; open it with open_dpdk_port()"),
            std::string::npos);
}

}  // namespace
}  // namespace roce::test
