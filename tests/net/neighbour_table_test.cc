// NeighbourTable: resolution in virtual time, gateways, and what packets may change.
// SPDX-License-Identifier: BSD-3-Clause
#include "net/neighbour_table.h"

#include <cerrno>
#include <cstdint>

#include <gtest/gtest.h>

namespace roce {
namespace {

constexpr MacAddress kOwnMac{{0x02, 0, 0, 0, 0, 0x01}};

constexpr Gid v4(uint8_t b, uint8_t c, uint8_t d) {
  return Gid::from(Ipv4Address{{10, b, c, d}});
}
constexpr MacAddress mac(uint8_t n) {
  return {{0x02, 0, 0, 0, 1, n}};
}
Instant ms(int64_t n) {
  return Instant{} + Duration::from_ms(n);
}

constexpr Gid kOwn = v4(0, 0, 1);
constexpr Gid kPeer = v4(0, 0, 2);
constexpr Gid kFar = v4(9, 9, 9);
constexpr Gid kGateway = v4(0, 0, 254);

class NeighbourTableTest : public testing::Test {
 protected:
  NeighbourTableTest() {
    local_.mac = kOwnMac;
    EXPECT_TRUE(local_.add(kOwn, 24));
  }

  NeighbourTable make(uint32_t capacity = 4) {
    NeighbourConfig config;
    config.capacity = capacity;
    return NeighbourTable(local_, config);
  }

  /// Request, solicitation, answer.
  static void resolve(NeighbourTable& table, const Gid& gid, const MacAddress& address,
                      Instant now) {
    EXPECT_EQ(table.request(gid, now), NeighbourState::pending);
    EXPECT_EQ(table.pull_solicitation(now), gid);
    EXPECT_TRUE(table.on_answer(gid, address, true, now));
    EXPECT_EQ(table.lookup(gid).mac, address);
  }

  LocalAddresses local_;
};

TEST_F(NeighbourTableTest, ResolvesWithTheFirstAnswer) {
  NeighbourTable table = make();
  EXPECT_EQ(table.lookup(kPeer).state, NeighbourState::unknown);
  EXPECT_FALSE(table.wants_tx());
  EXPECT_EQ(table.deadline(), kNever);
  EXPECT_EQ(table.request(kPeer, ms(0)), NeighbourState::pending);
  EXPECT_TRUE(table.wants_tx());
  EXPECT_EQ(table.pull_solicitation(ms(1)), kPeer);
  EXPECT_FALSE(table.wants_tx());
  EXPECT_EQ(table.pull_solicitation(ms(1)), std::nullopt);
  EXPECT_EQ(table.deadline(), ms(251));
  EXPECT_TRUE(table.on_answer(kPeer, mac(2), false, ms(2)));
  EXPECT_EQ(table.lookup(kPeer).state, NeighbourState::resolved);
  EXPECT_EQ(table.lookup(kPeer).mac, mac(2));
  EXPECT_EQ(table.deadline(), kNever);
  EXPECT_EQ(table.request(kPeer, ms(3)), NeighbourState::resolved);
  EXPECT_FALSE(table.wants_tx());
}

TEST_F(NeighbourTableTest, FailsAfterAllTriesAndStartsAnewWhenAskedAgain) {
  NeighbourTable table = make();
  for (int round = 0; round < 2; ++round) {
    Instant now = ms(int64_t{round} * 10'000);
    const Instant start = now;
    EXPECT_EQ(table.request(kPeer, now), NeighbourState::pending);
    int sent = 0;
    while (table.lookup(kPeer).state == NeighbourState::pending) {
      for (; table.pull_solicitation(now); ++sent) {
      }
      EXPECT_EQ(table.request(kPeer, now), NeighbourState::pending) << "asking again adds nothing";
      ASSERT_GT(table.deadline(), now);
      ASSERT_NE(table.deadline(), kNever);
      table.on_timeout(Instant{table.deadline().ns - 1});
      EXPECT_FALSE(table.wants_tx());
      now = table.deadline();
      table.on_timeout(now);
    }
    EXPECT_EQ(sent, 8);
    EXPECT_EQ(now - start, Duration::from_ms(int64_t{8} * 250));
    EXPECT_EQ(table.lookup(kPeer).state, NeighbourState::failed);
    EXPECT_EQ(table.deadline(), kNever);
    EXPECT_FALSE(table.wants_tx());
  }
}

TEST_F(NeighbourTableTest, FailsInTimeEvenIfSolicitationsCannotLeave) {
  NeighbourTable table = make();
  table.request(kPeer, ms(0));
  int steps = 0;
  while (table.deadline() != kNever && steps < 100) {
    table.on_timeout(table.deadline());
    ++steps;
  }
  EXPECT_EQ(steps, 8);
  EXPECT_EQ(table.lookup(kPeer).state, NeighbourState::failed);
  EXPECT_FALSE(table.wants_tx());
}

TEST_F(NeighbourTableTest, LateAnswerRevivesAFailedEntry) {
  NeighbourTable table = make();
  table.request(kPeer, ms(0));
  while (table.deadline() != kNever) {
    table.on_timeout(table.deadline());
  }
  EXPECT_TRUE(table.on_answer(kPeer, mac(2), true, ms(9'000)));
  EXPECT_EQ(table.lookup(kPeer).state, NeighbourState::resolved);
}

TEST_F(NeighbourTableTest, OwnAndMulticastAddressesNeedNoEntry) {
  NeighbourTable table = make();
  const Gid group = Gid::from(Ipv4Address{{239, 1, 2, 3}});
  EXPECT_EQ(table.request(kOwn, ms(0)), NeighbourState::resolved);
  EXPECT_EQ(table.lookup(kOwn).mac, kOwnMac);
  EXPECT_EQ(table.request(group, ms(0)), NeighbourState::resolved);
  EXPECT_EQ(table.lookup(group).mac, (MacAddress{{0x01, 0, 0x5e, 1, 2, 3}}));
  EXPECT_EQ(table.lookup(Gid::from(kAllNodes)).mac, (MacAddress{{0x33, 0x33, 0, 0, 0, 1}}));
  EXPECT_EQ(table.size(), 0U);
}

TEST_F(NeighbourTableTest, FarAddressesNeedTheGateway) {
  NeighbourTable table = make();
  EXPECT_EQ(table.request(kFar, ms(0)), NeighbourState::failed);
  EXPECT_EQ(table.set_gateway(v4(7, 7, 7)).error().code, EINVAL);
  EXPECT_EQ(table.set_gateway(Gid{}).error().reason,
            "the gateway is not on the link; give an address within a local prefix");
  ASSERT_TRUE(table.set_gateway(kGateway));
  EXPECT_EQ(table.request(kFar, ms(0)), NeighbourState::pending);
  EXPECT_EQ(table.request(v4(8, 8, 8), ms(0)), NeighbourState::pending);
  EXPECT_EQ(table.pull_solicitation(ms(0)), kGateway);
  EXPECT_EQ(table.pull_solicitation(ms(0)), std::nullopt);
  table.on_answer(kGateway, mac(254), true, ms(1));
  EXPECT_EQ(table.lookup(kFar).mac, mac(254));
  EXPECT_EQ(table.lookup(kGateway).mac, mac(254));
  EXPECT_EQ(table.lookup(kPeer).state, NeighbourState::unknown);
  EXPECT_EQ(table.size(), 1U);
}

TEST_F(NeighbourTableTest, LinkLocalPeerIsAskedFromALinkLocalAddressOnly) {
  const Gid peer = Gid::from(link_local_address(mac(2)));
  NeighbourTable table = make();
  EXPECT_EQ(table.request(peer, ms(0)), NeighbourState::failed);
  ASSERT_TRUE(local_.add(Gid::from(link_local_address(kOwnMac)), 64));
  EXPECT_EQ(table.request(peer, ms(0)), NeighbourState::pending);
  EXPECT_EQ(table.pull_solicitation(ms(0)), peer);
}

TEST_F(NeighbourTableTest, StaticEntriesStandAgainstPackets) {
  NeighbourTable table = make();
  EXPECT_EQ(table.add_static(kPeer, kBroadcastMac).error().code, EINVAL);
  EXPECT_EQ(table.add_static(Gid::from(kAllNodes), mac(1)).error().code, EINVAL);
  ASSERT_TRUE(table.add_static(kPeer, mac(2)));
  ASSERT_TRUE(table.add_static(kFar, mac(3)));
  EXPECT_FALSE(table.on_answer(kPeer, mac(66), true, ms(0)));
  table.on_solicited_by(kPeer, mac(66), ms(0));
  EXPECT_EQ(table.lookup(kPeer).mac, mac(2));
  EXPECT_EQ(table.request(kPeer, ms(1'000'000'000)), NeighbourState::resolved);
  EXPECT_EQ(table.lookup(kFar).mac, mac(3)) << "an own entry goes before the gateway";
  EXPECT_FALSE(table.wants_tx());
}

TEST_F(NeighbourTableTest, StaticEntryEndsAPendingResolution) {
  NeighbourTable table = make();
  table.request(kPeer, ms(0));
  ASSERT_TRUE(table.add_static(kPeer, mac(5)));
  EXPECT_FALSE(table.wants_tx());
  EXPECT_EQ(table.deadline(), kNever);
  ASSERT_TRUE(table.add_static(kPeer, mac(6)));
  EXPECT_EQ(table.lookup(kPeer).mac, mac(6));
  EXPECT_EQ(table.size(), 1U);
}

TEST_F(NeighbourTableTest, AnswersNobodyAskedForAreNotLearnt) {
  NeighbourTable table = make();
  EXPECT_FALSE(table.on_answer(kPeer, mac(2), true, ms(0)));
  EXPECT_EQ(table.size(), 0U);
  table.request(kPeer, ms(0));
  EXPECT_FALSE(table.on_answer(kPeer, kBroadcastMac, true, ms(0)));
  EXPECT_FALSE(table.on_answer(kPeer, MacAddress{}, true, ms(0)));
  EXPECT_EQ(table.lookup(kPeer).state, NeighbourState::pending);
}

TEST_F(NeighbourTableTest, ResolvedAddressChangesOnlyByOverride) {
  NeighbourTable table = make();
  resolve(table, kPeer, mac(2), ms(0));
  EXPECT_TRUE(table.on_answer(kPeer, mac(3), false, ms(1)));
  EXPECT_EQ(table.lookup(kPeer).mac, mac(2));
  EXPECT_TRUE(table.on_answer(kPeer, mac(3), true, ms(2)));
  EXPECT_EQ(table.lookup(kPeer).mac, mac(3));
}

TEST_F(NeighbourTableTest, StaleEntryIsConfirmedWhileItStaysGood) {
  NeighbourTable table = make();
  resolve(table, kPeer, mac(2), ms(0));
  EXPECT_EQ(table.request(kPeer, ms(59'999)), NeighbourState::resolved);
  EXPECT_FALSE(table.wants_tx());
  EXPECT_EQ(table.request(kPeer, ms(60'000)), NeighbourState::resolved);
  EXPECT_EQ(table.pull_solicitation(ms(60'000)), kPeer);
  EXPECT_EQ(table.lookup(kPeer).mac, mac(2));
  while (table.deadline() != kNever) {
    EXPECT_EQ(table.lookup(kPeer).state, NeighbourState::resolved);
    table.on_timeout(table.deadline());
  }
  EXPECT_EQ(table.lookup(kPeer).state, NeighbourState::failed);
}

TEST_F(NeighbourTableTest, LearnsWhoSolicitsUsOnTheLink) {
  NeighbourTable table = make();
  table.on_solicited_by(kPeer, mac(2), ms(0));
  EXPECT_EQ(table.lookup(kPeer).mac, mac(2));
  table.on_solicited_by(kPeer, mac(3), ms(0));
  EXPECT_EQ(table.lookup(kPeer).mac, mac(3));
  table.on_solicited_by(kFar, mac(4), ms(0));
  table.on_solicited_by(kOwn, mac(4), ms(0));
  table.on_solicited_by(Gid::from(Ipv4Address{}), mac(4), ms(0));
  table.on_solicited_by(v4(0, 0, 7), kBroadcastMac, ms(0));
  EXPECT_EQ(table.size(), 1U);
}

TEST_F(NeighbourTableTest, FloodOfSolicitationsDisplacesOnlyUnaskedEntries) {
  NeighbourTable table = make(4);
  ASSERT_TRUE(table.add_static(v4(0, 0, 100), mac(100)));
  resolve(table, v4(0, 0, 101), mac(101), ms(0));
  table.request(v4(0, 0, 102), ms(0));
  for (uint8_t i = 2; i < 90; ++i) {
    table.on_solicited_by(v4(0, 0, i), mac(i), ms(i));
    EXPECT_EQ(table.size(), 4U);
    EXPECT_EQ(table.lookup(v4(0, 0, i)).mac, mac(i));
  }
  EXPECT_EQ(table.lookup(v4(0, 0, 100)).mac, mac(100));
  EXPECT_EQ(table.lookup(v4(0, 0, 101)).mac, mac(101));
  EXPECT_EQ(table.lookup(v4(0, 0, 102)).state, NeighbourState::pending);
  EXPECT_EQ(table.request(v4(0, 0, 103), ms(100)), NeighbourState::pending);
  table.on_solicited_by(v4(0, 0, 50), mac(50), ms(101));
  EXPECT_EQ(table.lookup(v4(0, 0, 50)).state, NeighbourState::unknown) << "no place is left";
}

TEST_F(NeighbourTableTest, FullTableGivesUpFailedThenOldestEntries) {
  NeighbourTable table = make(3);
  resolve(table, v4(0, 0, 11), mac(11), ms(20));
  resolve(table, v4(0, 0, 12), mac(12), ms(10));
  table.request(v4(0, 0, 13), ms(30));
  EXPECT_EQ(table.request(v4(0, 0, 14), ms(40)), NeighbourState::pending);
  EXPECT_EQ(table.lookup(v4(0, 0, 12)).state, NeighbourState::unknown);
  while (table.deadline() != kNever) {
    table.on_timeout(table.deadline());
  }
  EXPECT_EQ(table.request(v4(0, 0, 15), ms(9'000)), NeighbourState::pending);
  EXPECT_EQ(table.lookup(v4(0, 0, 13)).state, NeighbourState::unknown);
  EXPECT_EQ(table.lookup(v4(0, 0, 11)).mac, mac(11));
}

TEST_F(NeighbourTableTest, RefusesWhenAllEntriesAreInUse) {
  NeighbourTable table = make(2);
  ASSERT_TRUE(table.add_static(v4(0, 0, 11), mac(11)));
  EXPECT_EQ(table.request(v4(0, 0, 12), ms(0)), NeighbourState::pending);
  EXPECT_EQ(table.request(v4(0, 0, 13), ms(0)), NeighbourState::failed);
  const Status full = table.add_static(v4(0, 0, 14), mac(14));
  EXPECT_EQ(full.error().code, ENOSPC);
  EXPECT_EQ(full.error().reason,
            "the neighbour table is full of 2 entries in use; raise its capacity");
  EXPECT_EQ(table.size(), 2U);
}

}  // namespace
}  // namespace roce
