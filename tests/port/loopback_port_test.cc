// Tests of LoopbackLink beyond the contract of all ports.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/loopback_port.h"

#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "port/port_contract.h"
#include "port/test_frames.h"

namespace roce::test {
namespace {

struct LoopbackPair {
  LoopbackLink link;

  Port& a() { return link.a(); }
  Port& b() { return link.b(); }
  Instant now() { return Instant{}; }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Loopback, PortContract, LoopbackPair);

TEST(LoopbackPort, SaysWhatItIs) {
  LoopbackConfig config;
  config.mtu = 1500;
  config.mac_b = MacAddress{{2, 1, 2, 3, 4, 5}};
  LoopbackLink link(config);
  EXPECT_EQ(link.b().info().mac, config.mac_b);
  EXPECT_EQ(link.a().info().mtu, 1500U);
  EXPECT_EQ(link.a().info().max_segments, kLoopbackSegments);
  EXPECT_NE(link.a().info().name, link.b().info().name);
  EXPECT_NE(link.a().info().mac, link.b().info().mac);
  EXPECT_TRUE(link.a().link_up());
}

TEST(LoopbackPort, PassesFramesByPointer) {
  LoopbackLink link;
  Frame sent;
  ASSERT_EQ(link.a().alloc({&sent, 1}), 1U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(sent.data) % 64, 0U);
  fill(sent, roce_bytes(1));
  ASSERT_EQ(link.a().tx_burst(Instant{}, {&sent, 1}), 1U);
  Frame got;
  ASSERT_EQ(link.b().rx_burst(Instant{}, {&got, 1}), 1U);
  EXPECT_EQ(got.data, sent.data);
  link.b().release({&got, 1});
}

TEST(LoopbackPort, LendsTheBufferReleasedLast) {
  LoopbackLink link;
  std::array<Frame, 3> frames;
  ASSERT_EQ(link.a().alloc(frames), 3U);
  link.b().release({&frames[1], 1});
  Frame again;
  ASSERT_EQ(link.a().alloc({&again, 1}), 1U);
  EXPECT_EQ(again.data, frames[1].data);
  link.a().release({&again, 1});
  link.a().release({&frames[0], 1});
  link.a().release({&frames[2], 1});
}

TEST(LoopbackPort, HoldsExactlyTheConfiguredNumberOfFrames) {
  LoopbackConfig config;
  config.buffers = 20;
  config.queue = 5;
  LoopbackLink link(config);
  std::array<Frame, 32> frames;
  ASSERT_EQ(link.a().alloc(frames), 20U);
  EXPECT_EQ(link.free_buffers(), 0U);
  for (size_t i = 0; i < 20; i++) {
    fill(frames[i], roce_bytes(i));
  }
  EXPECT_EQ(link.a().tx_burst(Instant{}, std::span(frames).first(20)), 5U);
  EXPECT_EQ(link.a().tx_burst(Instant{}, std::span(frames).subspan(5, 15)), 0U);
  EXPECT_EQ(link.a().stats().tx_refused, 30U);
  link.a().release(std::span(frames).subspan(5, 15));
  EXPECT_EQ(link.b().rx_burst(Instant{}, frames), 5U);
  link.b().release(std::span(frames).first(5));
  EXPECT_EQ(link.free_buffers(), 20U);
}

TEST(LoopbackPort, CountsSegmentsDoneOnceTheFrameIsAccepted) {
  LoopbackLink link;
  const auto whole = roce_bytes(9, 500);
  std::vector<uint8_t> payload(whole.begin() + 100, whole.end());
  const Segment segment{payload.data(), static_cast<uint32_t>(payload.size())};
  Frame f;
  ASSERT_EQ(link.a().alloc({&f, 1}), 1U);
  fill(f, {whole.begin(), whole.begin() + 100});
  f.segments = &segment;
  f.segment_count = 1;
  EXPECT_EQ(link.a().gather_done(), 0U);
  ASSERT_EQ(link.a().tx_burst(Instant{}, {&f, 1}), 1U);
  EXPECT_EQ(link.a().gather_done(), 1U);
  std::fill(payload.begin(), payload.end(), uint8_t{0});
  Frame got;
  ASSERT_EQ(link.b().rx_burst(Instant{}, {&got, 1}), 1U);
  EXPECT_EQ(bytes_of(got), whole);
  link.b().release({&got, 1});
}

TEST(LoopbackPort, HasAnEventOnlyWhileFramesWait) {
  LoopbackLink link;
  EXPECT_EQ(link.b().next_event(), kNever);
  Frame f;
  ASSERT_EQ(link.a().alloc({&f, 1}), 1U);
  fill(f, roce_bytes(1));
  ASSERT_EQ(link.a().tx_burst(Instant{5}, {&f, 1}), 1U);
  EXPECT_LE(link.b().next_event(), Instant{5});
  EXPECT_EQ(link.a().next_event(), kNever);
  ASSERT_EQ(link.b().rx_burst(Instant{5}, {&f, 1}), 1U);
  EXPECT_EQ(link.b().next_event(), kNever);
  link.b().release({&f, 1});
}

TEST(LoopbackPortDeathTest, StopsWhenSegmentsExceedTheBuffer) {
  LoopbackConfig config;
  config.mtu = 1500;
  LoopbackLink link(config);
  const std::vector<uint8_t> payload(1500);
  const Segment segment{payload.data(), 1500};
  Frame f;
  ASSERT_EQ(link.a().alloc({&f, 1}), 1U);
  fill(f, roce_bytes(1));
  f.segments = &segment;
  f.segment_count = 1;
  EXPECT_DEATH(link.a().tx_burst(Instant{}, {&f, 1}), "internal error");
}

}  // namespace
}  // namespace roce::test
