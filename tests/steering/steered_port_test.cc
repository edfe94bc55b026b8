// SteeredPort: each frame reaches the engine it is for, once, and every buffer comes home.
// SPDX-License-Identifier: BSD-3-Clause
#include "steering/steered_port.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/prng.h"
#include "port/test_frames.h"
#include "steering/node.h"
#include "wire/peek.h"

namespace roce::test {
namespace {

constexpr uint32_t kCount = 3;
constexpr size_t kDestQpAt = kNumberAt + 5;  // in the BTH, which the number's place begins
constexpr size_t kFrameLen = kNumberAt + 40;
constexpr uint8_t kIcmp = 1;
constexpr uint8_t kTcp = 6;

/// A packet to `qpn`; what it carries tells it from others.
std::vector<uint8_t> packet_to(uint32_t qpn, uint32_t number = 0,
                               MacAddress to = TwoNodes::mac(0)) {
  std::vector<uint8_t> bytes = roce_bytes(0, kFrameLen, to, TwoNodes::mac(1));
  store_be24(&bytes[kDestQpAt], qpn);
  store_be<uint32_t>(&bytes[kFrameLen - 4], number);
  return bytes;
}

std::vector<uint8_t> tagged(std::vector<uint8_t> bytes) {
  const std::array<uint8_t, 4> tag{0x81, 0x00, 0x00, 0x05};
  bytes.insert(bytes.begin() + 12, tag.begin(), tag.end());
  return bytes;
}

/// The same packet behind an IPv6 header.
std::vector<uint8_t> over_ipv6(std::vector<uint8_t> bytes) {
  bytes.erase(bytes.begin() + 14, bytes.begin() + 34);
  std::array<uint8_t, 40> ip{0x60};
  ip[6] = 17;
  bytes.insert(bytes.begin() + 14, ip.begin(), ip.end());
  store_be<uint16_t>(&bytes[12], 0x86dd);
  return bytes;
}

/// Ethernet, and zeros behind it but for the first bytes.
std::vector<uint8_t> other(uint16_t ethertype, std::vector<uint8_t> head) {
  std::vector<uint8_t> bytes(64);
  std::fill_n(bytes.begin(), 6, uint8_t{0xff});
  store_be<uint16_t>(&bytes[12], ethertype);
  std::copy(head.begin(), head.end(), bytes.begin() + 14);
  return bytes;
}

/// With the same sender and target: an announcement.
std::vector<uint8_t> arp(uint8_t operation, bool announces = false) {
  std::vector<uint8_t> bytes = other(0x0806, {0, 1, 8, 0, 6, 4, 0, operation});
  store_be<uint32_t>(&bytes[14 + 14], 0xc0000201);
  store_be<uint32_t>(&bytes[14 + 24], announces ? 0xc0000201 : 0xc0000202);
  return bytes;
}

std::vector<uint8_t> icmpv6(uint8_t type) {
  std::vector<uint8_t> bytes = other(0x86dd, {0x60, 0, 0, 0, 0, 10, 58});
  bytes[14 + 40] = type;
  return bytes;
}

std::vector<uint8_t> ipv4_of(uint8_t protocol) {
  return other(0x0800, {0x45, 0, 0, 50, 0, 0, 0, 0, 64, protocol});
}

class SteeredPorts : public testing::Test {
 protected:
  static uint32_t qpn_of(uint32_t engine) { return EnginePlace{engine, kCount}.first() + 77; }

  void arrive(uint32_t queue, const std::vector<uint8_t>& bytes) {
    nodes_->queues[0][queue].push_back(frame(bytes));
  }
  Frame frame(const std::vector<uint8_t>& bytes) {
    Frame f;
    EXPECT_EQ(nodes_->wire.pool.take({&f, 1}), 1u);
    fill(f, bytes);
    return f;
  }
  SteeredPort& port(uint32_t engine, uint8_t node = 0) { return *nodes_->ports[node][engine]; }

  /// What each engine of a node gets when each polls its port until nothing more comes.
  std::vector<std::vector<std::vector<uint8_t>>> poll_all(uint8_t node = 0) {
    std::vector<std::vector<std::vector<uint8_t>>> got(kCount);
    for (int quiet = 0; quiet < 3; ++quiet) {
      for (uint32_t i = 0; i < kCount; ++i) {
        std::array<Frame, 4> burst;
        const size_t n = port(i, node).rx_burst({}, burst);
        for (const Frame& f : std::span(burst).first(n)) {
          got[i].push_back(bytes_of(f));
        }
        port(i, node).release(std::span(burst).first(n));
        quiet = n == 0 ? quiet : -1;
      }
    }
    return got;
  }
  static std::array<size_t, kCount> counts(
      const std::vector<std::vector<std::vector<uint8_t>>>& got) {
    return {got[0].size(), got[1].size(), got[2].size()};
  }
  bool send(uint32_t engine, const std::vector<uint8_t>& bytes) {
    Frame f = frame(bytes);
    if (port(engine).tx_burst({}, {&f, 1}) == 1) {
      return true;
    }
    port(engine).release({&f, 1});
    return false;
  }
  using Counts = std::array<size_t, kCount>;

  std::unique_ptr<TwoNodes> nodes_ = std::make_unique<TwoNodes>(kCount);
};

TEST_F(SteeredPorts, APacketReachesTheEngineOfItsQueuePairWhereverItArrives) {
  for (uint32_t queue = 0; queue < kCount; ++queue) {
    for (uint32_t engine = 0; engine < kCount; ++engine) {
      for (const auto& bytes :
           {packet_to(qpn_of(engine)), tagged(packet_to(qpn_of(engine))),
            over_ipv6(packet_to(qpn_of(engine))), tagged(over_ipv6(packet_to(qpn_of(engine))))}) {
        arrive(queue, bytes);
        auto got = poll_all();
        Counts expected{};
        expected[engine] = 1;
        EXPECT_EQ(counts(got), expected) << queue;
        ASSERT_EQ(got[engine].size(), 1u);
        EXPECT_EQ(got[engine][0], bytes);
      }
    }
  }
  for (uint32_t queue = 0; queue < kCount; ++queue) {
    EXPECT_EQ(port(queue).stats().rx_handed_over, 4 * (kCount - 1));
  }
  EXPECT_TRUE(nodes_->wire.all_home());
}

TEST_F(SteeredPorts, EveryEngineHearsWhereANeighbourIs) {
  for (const auto& bytes : {arp(2), arp(1, true), tagged(arp(2)), icmpv6(136), tagged(icmpv6(136)),
                            packet_to(kMulticastQpn)}) {
    arrive(1, bytes);
    const auto got = poll_all();
    ASSERT_EQ(counts(got), (Counts{1, 1, 1}));
    EXPECT_EQ(got[0][0], bytes);
    EXPECT_EQ(got[2][0], bytes);
  }
  EXPECT_TRUE(nodes_->wire.all_home());
}

/// The bytes where a packet has its UDP port are something else there.
TEST_F(SteeredPorts, WhatOnlyLooksLikeAPacketIsNone) {
  std::vector<uint8_t> reply = arp(2);
  store_be<uint16_t>(&reply[14 + 22], 4791);  // the end of the target's MAC address
  store_be24(&reply[14 + 33], qpn_of(2));     // padding
  std::vector<uint8_t> advertisement = icmpv6(136);
  advertisement.resize(80);
  store_be<uint16_t>(&advertisement[14 + 42], 4791);  // the checksum
  for (const auto& bytes : {reply, tagged(reply), advertisement, tagged(advertisement)}) {
    EXPECT_FALSE(wire::peek_dest_qp(bytes));
    arrive(0, bytes);
    EXPECT_EQ(counts(poll_all()), (Counts{1, 1, 1}));
  }
}

TEST_F(SteeredPorts, OneEngineIsAsked) {
  for (const auto& bytes : {arp(1), tagged(arp(1)), icmpv6(135), icmpv6(128), ipv4_of(kIcmp)}) {
    arrive(1, bytes);
    EXPECT_EQ(counts(poll_all()), (Counts{0, 1, 0}));
  }
}

TEST_F(SteeredPorts, WhatIsForNobodyStaysWhereItCame) {
  std::vector<uint8_t> other_port = packet_to(qpn_of(0));
  store_be<uint16_t>(&other_port[36], 4790);
  for (const auto& bytes :
       {ipv4_of(kTcp), other(0x88cc, {}), std::vector<uint8_t>(14), std::vector<uint8_t>(1),
        std::vector<uint8_t>{}, other_port, std::vector<uint8_t>(kFrameLen - 30)}) {
    arrive(2, bytes);
    EXPECT_EQ(counts(poll_all()), (Counts{0, 0, 1})) << bytes.size();
  }
}

TEST_F(SteeredPorts, CutFramesAreNotReadBeyondTheirEnd) {
  for (const auto& whole : {packet_to(qpn_of(1)), tagged(over_ipv6(packet_to(qpn_of(1)))), arp(2),
                            tagged(icmpv6(136))}) {
    for (size_t len = 0; len < whole.size(); ++len) {
      // On the heap and exactly as long, so that a sanitizer sees a byte too many.
      std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(len));
      cut.shrink_to_fit();
      const auto qpn = wire::peek_dest_qp(cut);
      EXPECT_TRUE(!qpn || *qpn == qpn_of(1)) << len;
      arrive(0, cut);
      poll_all();
    }
  }
  EXPECT_TRUE(nodes_->wire.all_home());
}

TEST_F(SteeredPorts, WhatIsSentToTheNodeItselfStaysInside) {
  ASSERT_TRUE(send(0, packet_to(qpn_of(2))));
  EXPECT_EQ(counts(poll_all()), (Counts{0, 0, 1}));
  EXPECT_EQ(counts(poll_all(1)), Counts{});
  EXPECT_EQ(port(0).stats().tx_frames, 0u);
}

TEST_F(SteeredPorts, ADatagramToAGroupReachesTheOtherEnginesAndTheNetwork) {
  const auto bytes = packet_to(kMulticastQpn, 0, MacAddress{{0x01, 0, 0x5e, 1, 2, 3}});
  ASSERT_TRUE(send(1, bytes));
  EXPECT_EQ(counts(poll_all()), (Counts{1, 0, 1}));
  EXPECT_EQ(counts(poll_all(1)), (Counts{1, 1, 1}));
  EXPECT_TRUE(nodes_->wire.all_home());
}

TEST_F(SteeredPorts, ARefusedDatagramToAGroupReachesNobodyYet) {
  nodes_->wire.accepts = false;
  EXPECT_FALSE(send(1, packet_to(kMulticastQpn, 0, MacAddress{{0x01, 0, 0x5e, 1, 2, 3}})));
  EXPECT_EQ(counts(poll_all()), Counts{});
  EXPECT_TRUE(nodes_->wire.all_home());
}

TEST_F(SteeredPorts, ARequestForANeighbourGoesToTheNetworkOnly) {
  ASSERT_TRUE(send(1, arp(1)));
  EXPECT_EQ(counts(poll_all()), Counts{});
  EXPECT_EQ(counts(poll_all(1)), (Counts{0, 1, 0}));
}

TEST_F(SteeredPorts, ABurstKeepsItsOrderAroundWhatStaysInside) {
  std::vector<Frame> burst;
  for (uint32_t i = 0; i < 12; ++i) {
    burst.push_back(frame(packet_to(qpn_of(1), i, TwoNodes::mac(i % 3 == 0 ? 0 : 1))));
  }
  EXPECT_EQ(port(0).tx_burst({}, burst), burst.size());
  for (const uint8_t node : {uint8_t{0}, uint8_t{1}}) {
    const auto got = poll_all(node);
    EXPECT_EQ(got[1].size(), node == 0 ? 4u : 8u);
    EXPECT_TRUE(std::is_sorted(got[1].begin(), got[1].end()));
  }
}

TEST_F(SteeredPorts, TheRestOfARefusedBurstStaysTheCallers) {
  nodes_->wire.accepts = false;
  std::vector<Frame> burst{frame(packet_to(qpn_of(1), 0)),
                           frame(packet_to(qpn_of(1), 1, TwoNodes::mac(1))),
                           frame(packet_to(qpn_of(1), 2))};
  EXPECT_EQ(port(0).tx_burst({}, burst), 1u);
  port(0).release(std::span(burst).subspan(1));
  EXPECT_EQ(counts(poll_all()), (Counts{0, 1, 0}));
  EXPECT_TRUE(nodes_->wire.all_home());
}

TEST_F(SteeredPorts, ADeviceThatLoopsBackGetsEverything) {
  nodes_ = std::make_unique<TwoNodes>(kCount, true);
  ASSERT_TRUE(send(0, packet_to(qpn_of(2))));
  ASSERT_TRUE(send(0, packet_to(kMulticastQpn, 0, MacAddress{{0x01, 0, 0x5e, 1, 2, 3}})));
  EXPECT_EQ(counts(poll_all()), Counts{});
  EXPECT_EQ(counts(poll_all(1)), (Counts{1, 1, 2}));
}

TEST_F(SteeredPorts, AnEngineThatDoesNotComeLosesItsFramesOnly) {
  for (size_t i = 0; i < Steering::kLaneFrames + 5; ++i) {
    ASSERT_TRUE(send(0, packet_to(qpn_of(1))));
    arrive(0, packet_to(qpn_of(0)));
    Frame own;
    ASSERT_EQ(port(0).rx_burst({}, {&own, 1}), 1u);
    port(0).release({&own, 1});
  }
  EXPECT_EQ(port(0).stats().rx_missed, 5u);
  EXPECT_EQ(counts(poll_all()), (Counts{0, Steering::kLaneFrames, 0}));
  EXPECT_TRUE(nodes_->wire.all_home());
}

TEST_F(SteeredPorts, WithoutBuffersThereAreFewerCopies) {
  nodes_ = std::make_unique<TwoNodes>(kCount, false, 2);
  arrive(0, arp(2));
  EXPECT_EQ(counts(poll_all()), (Counts{1, 1, 0}));
  EXPECT_EQ(port(0).stats().rx_missed, 1u);
}

TEST_F(SteeredPorts, AFrameBeyondTheMtuIsNotCopied) {
  for (const uint32_t beyond : {0u, 1u, 82u}) {
    std::vector<uint8_t> bytes = packet_to(kMulticastQpn);
    bytes.resize(TwoNodes::kMtu + 18 + beyond);
    arrive(1, bytes);
    EXPECT_EQ(counts(poll_all()), beyond == 0 ? (Counts{1, 1, 1}) : (Counts{0, 1, 0}));
  }
  EXPECT_TRUE(nodes_->wire.all_home());
}

TEST_F(SteeredPorts, NoLaneStarvesAnother) {
  const auto fill_lanes = [&] {
    for (int i = 0; i < 32; ++i) {
      ASSERT_TRUE(send(0, packet_to(qpn_of(2), 1)));
      ASSERT_TRUE(send(1, packet_to(qpn_of(2), 2)));
    }
  };
  std::array<int, 3> seen{};
  for (int round = 0; round < 12; ++round) {
    fill_lanes();
    std::array<Frame, 32> burst;
    const size_t n = port(2).rx_burst({}, burst);
    for (const Frame& f : std::span(burst).first(n)) {
      ++seen[f.data[kFrameLen - 1]];
    }
    port(2).release(std::span(burst).first(n));
  }
  EXPECT_GT(seen[1], 60);
  EXPECT_GT(seen[2], 60);
  poll_all();
}

TEST_F(SteeredPorts, NeitherSourceStarvesTheOther) {
  for (int i = 0; i < 64; ++i) {
    arrive(0, packet_to(qpn_of(1), 1));  // to be handed over
    arrive(1, packet_to(qpn_of(1), 2));
  }
  std::array<Frame, 64> burst;
  ASSERT_EQ(port(0).rx_burst({}, burst), 0u);
  std::array<Frame, 8> few;
  std::array<int, 3> seen{};
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(port(1).rx_burst({}, few), few.size());
    for (const Frame& f : few) {
      ++seen[f.data[kFrameLen - 1]];
    }
    port(1).release(few);
  }
  EXPECT_EQ(seen[1], seen[2]);
  poll_all();
}

TEST_F(SteeredPorts, WhatWasHandedToAnEngineThatEndsComesHome) {
  ASSERT_TRUE(send(0, packet_to(qpn_of(1))));
  nodes_->ports[0].clear();
  nodes_->ports[1].clear();
  EXPECT_TRUE(nodes_->wire.all_home());
}

TEST_F(SteeredPorts, NothingIsLostOrSeenTwiceInARandomMix) {
  Prng random(20261201);
  uint32_t sent = 0;
  std::vector<int> seen;
  for (int round = 0; round < 300; ++round) {
    for (int k = 0; k < 20; ++k) {
      const auto engine = static_cast<uint32_t>(random.next() % kCount);
      arrive(static_cast<uint32_t>(random.next() % kCount), packet_to(qpn_of(engine), sent++));
    }
    seen.resize(sent);
    const auto got = poll_all();
    for (uint32_t engine = 0; engine < kCount; ++engine) {
      for (const auto& bytes : got[engine]) {
        EXPECT_EQ(load_be24(&bytes[kDestQpAt]), qpn_of(engine));
        ++seen[load_be<uint32_t>(&bytes[kFrameLen - 4])];
      }
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<ptrdiff_t>(sent));
  EXPECT_TRUE(nodes_->wire.all_home());
}

}  // namespace
}  // namespace roce::test
