// The contract of all ports over DPDK, and what only a look behind the port can show.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include "dpdk/ring_pair.h"
#include "port/dpdk/eal.h"
#include "port/port_contract.h"
#include "port/test_frames.h"

namespace roce::test {
namespace {

struct ContractPair : RingPair {};
INSTANTIATE_TYPED_TEST_SUITE_P(DpdkRing, PortContract, ContractPair);

std::vector<Frame> take_all_blanks(Port& port) {
  std::vector<Frame> all;
  std::array<Frame, 32> burst;
  for (size_t n = port.alloc(burst); n != 0; n = port.alloc(burst)) {
    all.insert(all.end(), burst.begin(), burst.begin() + static_cast<ptrdiff_t>(n));
  }
  return all;
}

void send_one(Port& port, const std::vector<uint8_t>& bytes) {
  Frame frame;
  ASSERT_EQ(port.alloc({&frame, 1}), 1U);
  fill(frame, bytes);
  ASSERT_EQ(port.tx_burst({}, {&frame, 1}), 1U);
}

// A chain of pool buffers that holds `bytes` in pieces of `piece`, put where port B receives.
void enqueue_chain(RingPair& pair, const std::vector<uint8_t>& bytes, uint16_t piece) {
  rte_mempool* pool = device_of(pair.a()).tx_pool();
  rte_mbuf* head = nullptr;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    rte_mbuf* m = rte_pktmbuf_alloc(pool);
    ASSERT_NE(m, nullptr);
    const auto len = static_cast<uint16_t>(std::min<size_t>(piece, bytes.size() - at));
    std::memcpy(rte_pktmbuf_append(m, len), &bytes[at], len);
    if (head == nullptr) {
      head = m;
    } else {
      ASSERT_EQ(rte_pktmbuf_chain(head, m), 0);
    }
  }
  ASSERT_EQ(rte_ring_enqueue(pair.a_to_b(), head), 0);
}

TEST(DpdkRingPort, CarriesJumboFramesByteExact) {
  RingPair pair(9000);
  const auto bytes = roce_bytes(1, 14 + 9000);
  send_one(pair.a(), bytes);
  Frame got;
  ASSERT_EQ(pair.b().rx_burst({}, {&got, 1}), 1U);
  EXPECT_EQ(bytes_of(got), bytes);
  pair.b().release({&got, 1});
}

TEST(DpdkRingPort, StartsFramesOnACacheLine) {
  RingPair pair;
  Frame frame;
  ASSERT_EQ(pair.a().alloc({&frame, 1}), 1U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(frame.data) % 64, 0U);
  pair.a().release({&frame, 1});
}

TEST(DpdkRingPort, ReceivesAndSendsReceivedFramesWhileNoBlankIsLeft) {
  RingPair pair;
  std::vector<Frame> blanks = take_all_blanks(pair.a());
  Frame none;
  ASSERT_EQ(pair.a().alloc({&none, 1}), 0U);
  for (uint64_t i = 0; i < 1000; ++i) {
    send_one(pair.b(), roce_bytes(i));
    Frame got;
    ASSERT_EQ(pair.a().rx_burst({}, {&got, 1}), 1U);
    ASSERT_EQ(number_of(got), i);
    ASSERT_EQ(pair.a().tx_burst({}, {&got, 1}), 1U);
    ASSERT_EQ(pair.b().rx_burst({}, {&got, 1}), 1U);
    ASSERT_EQ(number_of(got), i);
    pair.b().release({&got, 1});
  }
  pair.a().release(blanks);
  EXPECT_EQ(pair.a().alloc({&none, 1}), 1U);
  pair.a().release({&none, 1});
}

TEST(DpdkRingPort, LendsTheLastBuffersOfABurstThatIsTooLarge) {
  RingPair pair;
  std::vector<Frame> blanks = take_all_blanks(pair.a());
  pair.a().release(std::span(blanks).first(5));
  std::array<Frame, 32> burst;
  EXPECT_EQ(pair.a().alloc(burst), 5U);
  pair.a().release(std::span(burst).first(5));
  pair.a().release(std::span(blanks).subspan(5));
}

TEST(DpdkRingPort, BringsAChainIntoOnePiece) {
  RingPair pair;
  const unsigned before = free_buffers(device_of(pair.a()).tx_pool());
  const auto bytes = roce_bytes(9, 1500);
  enqueue_chain(pair, bytes, 333);
  Frame got;
  ASSERT_EQ(pair.b().rx_burst({}, {&got, 1}), 1U);
  EXPECT_EQ(got.segment_count, 0U);
  EXPECT_EQ(bytes_of(got), bytes);
  pair.b().release({&got, 1});
  EXPECT_EQ(free_buffers(device_of(pair.a()).tx_pool()), before);
  EXPECT_EQ(pair.b().stats().rx_frames, 1U);
}

TEST(DpdkRingPort, CountsAChainThatNoBufferCanHoldAsMissed) {
  RingPair pair;
  const unsigned before = free_buffers(device_of(pair.a()).tx_pool());
  enqueue_chain(pair, roce_bytes(1, 4000), 1000);
  enqueue_chain(pair, roce_bytes(2, 800), 500);
  std::array<Frame, 2> got;
  ASSERT_EQ(pair.b().rx_burst({}, got), 1U);
  EXPECT_EQ(number_of(got[0]), 2U);
  pair.b().release({got.data(), 1});
  EXPECT_EQ(pair.b().stats().rx_missed, 1U);
  EXPECT_EQ(free_buffers(device_of(pair.a()).tx_pool()), before);
}

TEST(DpdkRingPort, ReturnsEveryBufferToItsPool) {
  RingPair pair;
  const auto pools = [&] {
    std::vector<unsigned> free;
    for (Port* port : {&pair.a(), &pair.b()}) {
      free.push_back(free_buffers(device_of(*port).rx_pool()));
      free.push_back(free_buffers(device_of(*port).tx_pool()));
      free.push_back(free_buffers(device_of(*port).segment_pool()));
    }
    return free;
  };
  const auto before = pools();
  for (int round = 0; round < 200; ++round) {
    std::array<Frame, 48> frames;
    ASSERT_EQ(pair.a().alloc(frames), frames.size());
    for (Frame& f : frames) {
      fill(f, roce_bytes(7, 900));
    }
    pair.a().release(std::span(frames).first(10));
    ASSERT_EQ(pair.a().tx_burst({}, std::span(frames).subspan(10)), 38U);
    ASSERT_EQ(pair.b().rx_burst({}, frames), 38U);
    pair.b().release(std::span(frames).first(38));
  }
  EXPECT_EQ(pools(), before);
}

TEST(DpdkRingPort, MayCloseWhileItsPeerHoldsItsFrames) {
  RingPair pair;
  const auto bytes = roce_bytes(3, 700);
  send_one(pair.a(), bytes);
  send_one(pair.a(), bytes);
  Frame got;
  ASSERT_EQ(pair.b().rx_burst({}, {&got, 1}), 1U);
  pair.close_a();
  EXPECT_EQ(bytes_of(got), bytes);
  pair.b().release({&got, 1});
  ASSERT_EQ(pair.b().rx_burst({}, {&got, 1}), 1U);
  EXPECT_EQ(bytes_of(got), bytes);
  pair.b().release({&got, 1});
}

}  // namespace
}  // namespace roce::test
