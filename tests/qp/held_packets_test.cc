// Keeping packets in PSN order, within bounds, and giving each frame back once.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/held_packets.h"

#include <array>

#include <gtest/gtest.h>

namespace roce {
namespace {

using Kept = HeldPackets::Kept;

class HeldPacketsTest : public testing::Test {
 protected:
  Kept keep(HeldPackets& held, uint32_t psn, int32_t distance = 1, bool placed = false) {
    frames_[next_].data = bytes_.data() + next_;
    pool_.offer(frames_[next_++]);
    wire::Packet packet;
    packet.psn = Psn(psn);
    const Kept kept = held.keep(packet, distance, placed);
    EXPECT_EQ(pool_.end_offer(), kept == Kept::yes && !placed);
    return kept;
  }

  std::array<uint8_t, 32> bytes_{};
  std::array<Frame, 32> frames_{};
  size_t next_ = 0;
  HoldingPool pool_{4};
};

TEST_F(HeldPacketsTest, ComeOutInPsnOrderAcrossTheWrap) {
  HeldPackets held(&pool_);
  for (const uint32_t psn : {0xfffffeU, 1U, 0xffffffU, 0U}) {
    EXPECT_EQ(keep(held, psn), Kept::yes);
  }
  for (const uint32_t psn : {0xfffffeU, 0xffffffU, 0U, 1U}) {
    ASSERT_FALSE(held.empty());
    held.pop([&](const wire::Packet& packet) { EXPECT_EQ(packet.psn, Psn(psn)); });
  }
  EXPECT_TRUE(held.empty());
  EXPECT_EQ(pool_.returned().size(), 4U);
  EXPECT_EQ(pool_.take_lost(), 0U);
}

TEST_F(HeldPacketsTest, TwiceTheSameIsKeptOnce) {
  HeldPackets held(&pool_);
  EXPECT_EQ(keep(held, 5), Kept::yes);
  EXPECT_EQ(keep(held, 5), Kept::twice);
  EXPECT_EQ(keep(held, 7), Kept::yes);
  EXPECT_EQ(keep(held, 7), Kept::twice);
}

TEST_F(HeldPacketsTest, PoolIsTheBoundOfAll) {
  HeldPackets one(&pool_);
  HeldPackets other(&pool_);
  for (const uint32_t psn : {1U, 2U}) {
    EXPECT_EQ(keep(one, psn), Kept::yes);
    EXPECT_EQ(keep(other, psn), Kept::yes);
  }
  EXPECT_EQ(keep(one, 3), Kept::no);
  other.clear();
  EXPECT_EQ(pool_.take_lost(), 2U);
  EXPECT_EQ(keep(one, 3), Kept::yes);
}

TEST_F(HeldPacketsTest, OneQueuePairKeepsNoMoreThanItsShare) {
  HoldingPool large(kMaxHeld + 8);
  HeldPackets held(&large);
  Frame frame{.data = bytes_.data()};
  for (uint32_t psn = 1; psn <= kMaxHeld + 1; ++psn) {
    large.offer(frame);
    wire::Packet packet;
    packet.psn = Psn(psn);
    EXPECT_EQ(held.keep(packet, 1, false), psn <= kMaxHeld ? Kept::yes : Kept::no);
    large.end_offer();
  }
}

TEST_F(HeldPacketsTest, TooFarAheadOrWithoutAPoolNothingIsKept) {
  HeldPackets held(&pool_);
  EXPECT_EQ(keep(held, 1, HeldPackets::kReach), Kept::yes);
  EXPECT_EQ(keep(held, 2, HeldPackets::kReach + 1), Kept::no);
  HeldPackets none(nullptr);
  EXPECT_EQ(keep(none, 3), Kept::no);
}

TEST_F(HeldPacketsTest, OfAPlacedPacketNoFrameIsKept) {
  HeldPackets held(&pool_);
  EXPECT_EQ(keep(held, 2, 2, true), Kept::yes);
  EXPECT_EQ(keep(held, 2, 2, true), Kept::twice);
  EXPECT_EQ(keep(held, 3, 3, true), Kept::yes);
  pool_.for_each_frame([&](const Frame&) { ADD_FAILURE() << "a frame is kept"; });
  held.pop([](const wire::Packet& packet) { EXPECT_EQ(packet.payload, nullptr); });
  EXPECT_FALSE(pool_.has_returns());
  held.clear();
  EXPECT_TRUE(pool_.has_returns());
  EXPECT_EQ(pool_.take_lost(), 1U);
  EXPECT_TRUE(pool_.returned().empty());
}

TEST_F(HeldPacketsTest, WhatIsStillKeptCanBeReleasedAtTheEnd) {
  HeldPackets held(&pool_);
  keep(held, 1);
  keep(held, 2);
  held.pop([](const wire::Packet&) {});
  size_t frames = 0;
  pool_.for_each_frame([&](const Frame&) { ++frames; });
  EXPECT_EQ(frames, 1U);
  EXPECT_EQ(pool_.returned().size(), 1U);
}

}  // namespace
}  // namespace roce
