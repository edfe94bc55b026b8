// Frames whose payload stays where it is: what arrives, and when the memory is said to be free.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include "dpdk/ring_pair.h"
#include "port/test_frames.h"

namespace roce::test {
namespace {

constexpr uint32_t kHeader = kMinFrameLen;

// A frame of which the first kHeader bytes are in the port's buffer and the rest in `bytes`.
struct Gathered {
  std::vector<uint8_t> bytes;
  std::vector<Segment> segments;
  Frame frame;

  Gathered(Port& port, uint64_t number, uint32_t len, uint32_t pieces)
      : bytes(roce_bytes(number, len)) {
    EXPECT_EQ(port.alloc({&frame, 1}), 1U);
    fill(frame, {bytes.begin(), bytes.begin() + kHeader});
    const uint32_t piece = (len - kHeader) / pieces;
    for (uint32_t i = 0; i < pieces; ++i) {
      const uint32_t at = kHeader + i * piece;
      segments.push_back({&bytes[at], i + 1 == pieces ? len - at : piece});
    }
    frame.segments = segments.data();
    frame.segment_count = pieces;
  }
};

TEST(DpdkGather, SegmentsArriveByteExactInOneFrame) {
  RingPair pair(9000);
  ASSERT_EQ(pair.a().info().max_segments, 8U);
  for (uint32_t pieces = 1; pieces <= 8; ++pieces) {
    Gathered g(pair.a(), pieces, 9014, pieces);
    ASSERT_EQ(pair.a().tx_burst({}, {&g.frame, 1}), 1U);
    EXPECT_EQ(pair.a().gather_done(), pieces - 1);
    Frame got;
    ASSERT_EQ(pair.b().rx_burst({}, {&got, 1}), 1U);
    EXPECT_EQ(bytes_of(got), g.bytes) << pieces << " segments";
    pair.b().release({&got, 1});
    EXPECT_EQ(pair.a().gather_done(), pieces);
  }
}

TEST(DpdkGather, ReportsFramesInTheOrderOfAcceptance) {
  RingPair pair;
  std::vector<Gathered> frames;
  for (uint64_t i = 0; i < 3; ++i) {
    frames.emplace_back(pair.a(), i, 500, 2);
    ASSERT_EQ(pair.a().tx_burst({}, {&frames.back().frame, 1}), 1U);
  }
  std::array<void*, 3> mbufs{};
  ASSERT_EQ(rte_ring_dequeue_bulk(pair.a_to_b(), mbufs.data(), 3, nullptr), 3U);
  rte_pktmbuf_free(static_cast<rte_mbuf*>(mbufs[2]));
  EXPECT_EQ(pair.a().gather_done(), 0U);
  rte_pktmbuf_free(static_cast<rte_mbuf*>(mbufs[0]));
  EXPECT_EQ(pair.a().gather_done(), 1U);
  rte_pktmbuf_free(static_cast<rte_mbuf*>(mbufs[1]));
  EXPECT_EQ(pair.a().gather_done(), 3U);
}

TEST(DpdkGather, RefusedFramesStayWholeAndUncounted) {
  RingPair pair(1500, 8);
  const unsigned segments_before = free_buffers(device_of(pair.a()).segment_pool());
  std::vector<Gathered> made;
  std::vector<Frame> frames;
  for (uint64_t i = 0; i < 12; ++i) {
    // Every other frame is contiguous: only the gathered ones count.
    made.emplace_back(pair.a(), i, 1000, 3);
    frames.push_back(made.back().frame);
    if (i % 2 == 1) {
      std::memcpy(frames.back().data, made.back().bytes.data(), 1000);
      frames.back().len = 1000;
      frames.back().segment_count = 0;
    }
  }
  std::span<Frame> rest(frames);
  const size_t accepted = pair.a().tx_burst({}, rest);
  ASSERT_EQ(accepted, 7U);  // what a ring of 8 holds
  rest = rest.subspan(accepted);
  EXPECT_EQ(pair.a().stats().tx_refused, 5U);
  std::array<Frame, 16> got;
  ASSERT_EQ(pair.b().rx_burst({}, got), 7U);
  EXPECT_EQ(pair.a().gather_done(), 4U);
  pair.b().release(std::span(got).first(7));
  ASSERT_EQ(pair.a().tx_burst({}, rest), 5U);
  ASSERT_EQ(pair.b().rx_burst({}, got), 5U);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(bytes_of(got[i]), made[7 + i].bytes);
  }
  pair.b().release(std::span(got).first(5));
  EXPECT_EQ(pair.a().gather_done(), 6U);
  EXPECT_EQ(free_buffers(device_of(pair.a()).segment_pool()), segments_before);
}

TEST(DpdkGather, StopsAcceptingWhenSegmentBuffersRunOutAndGoesOnAfterwards) {
  RingPair pair(1500, 4096);
  std::vector<Gathered> sent;
  sent.reserve(4096);
  for (;;) {
    sent.emplace_back(pair.a(), sent.size(), 200, 8);
    if (pair.a().tx_burst({}, {&sent.back().frame, 1}) == 0) {
      break;
    }
  }
  ASSERT_GT(sent.size(), 8U);
  for (size_t i = 0; i + 1 < sent.size(); ++i) {
    Frame got;
    ASSERT_EQ(pair.b().rx_burst({}, {&got, 1}), 1U);
    ASSERT_EQ(bytes_of(got), sent[i].bytes);
    pair.b().release({&got, 1});
  }
  EXPECT_EQ(pair.a().gather_done(), sent.size() - 1);
  EXPECT_EQ(pair.a().tx_burst({}, {&sent.back().frame, 1}), 1U);
}

}  // namespace
}  // namespace roce::test
