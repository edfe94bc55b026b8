// LocalAddresses: what is own, what is on the link, and addresses computed from others.
// SPDX-License-Identifier: BSD-3-Clause
#include "net/local_addresses.h"

#include <cerrno>
#include <cstdint>

#include <gtest/gtest.h>

namespace roce {
namespace {

constexpr MacAddress kMac{{0x02, 0x11, 0x22, 0x33, 0x44, 0x55}};

constexpr Gid v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  return Gid::from(Ipv4Address{{a, b, c, d}});
}
/// 2001:db8::hi:lo
constexpr Gid v6(uint8_t hi, uint8_t lo) {
  return Gid{{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, hi, 0, lo}};
}

TEST(LocalAddresses, LinkLocalAddressFollowsFromTheMac) {
  const Ipv6Address expected{
      {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x00, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55}};
  EXPECT_EQ(link_local_address(kMac), expected);
  EXPECT_TRUE(link_local_address(kMac).is_link_local());
}

TEST(LocalAddresses, SolicitedNodeAddressKeepsTheLastThreeBytes) {
  const Ipv6Address a{{0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xaa, 0xbb, 0xcc, 0xdd}};
  const Ipv6Address expected{{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xbb, 0xcc, 0xdd}};
  EXPECT_EQ(solicited_node_address(a), expected);
}

TEST(LocalAddresses, MulticastMacsAreComputed) {
  EXPECT_EQ(multicast_mac(v4(239, 129, 2, 3)), (MacAddress{{0x01, 0, 0x5e, 1, 2, 3}}));
  EXPECT_EQ(multicast_mac(Gid::from(kAllNodes)), (MacAddress{{0x33, 0x33, 0, 0, 0, 1}}));
}

TEST(LocalAddresses, TellsUnicastFromOthers) {
  EXPECT_TRUE(is_unicast(v4(10, 0, 0, 1)));
  EXPECT_TRUE(is_unicast(v6(0, 1)));
  EXPECT_FALSE(is_unicast(v4(224, 0, 0, 1)));
  EXPECT_FALSE(is_unicast(v4(0, 0, 0, 0)));
  EXPECT_FALSE(is_unicast(v4(255, 255, 255, 255)));
  EXPECT_FALSE(is_unicast(Gid{}));
  EXPECT_FALSE(is_unicast(Gid::from(kAllNodes)));
  EXPECT_FALSE(is_unicast(MacAddress{}));
  EXPECT_FALSE(is_unicast(kBroadcastMac));
}

TEST(LocalAddresses, RefusesWhatCannotBeAnOwnAddress) {
  LocalAddresses local;
  EXPECT_EQ(local.add(v4(224, 0, 0, 1), 24).error().code, EINVAL);
  EXPECT_EQ(local.add(Gid{}, 64).error().code, EINVAL);
  EXPECT_EQ(local.add(v4(10, 0, 0, 1), 33).error().code, EINVAL);
  const Status too_long = local.add(v6(0, 1), 129);
  EXPECT_EQ(too_long.error().code, EINVAL);
  EXPECT_EQ(
      too_long.error().reason,
      "a prefix of 129 bits is longer than 128, the length of the address; give a shorter one");
  EXPECT_TRUE(local.add(v4(10, 0, 0, 1), 32));
  EXPECT_EQ(local.add(v4(10, 0, 0, 1), 24).error().code, EEXIST);
  for (uint8_t i = 1; i < LocalAddresses::kMaxAddresses; ++i) {
    EXPECT_TRUE(local.add(v6(0, i), 64));
  }
  const Status full = local.add(v6(0, 200), 64);
  EXPECT_EQ(full.error().code, ENOSPC);
  EXPECT_NE(full.error().reason.find(" local addresses; remove some"), std::string::npos);
  EXPECT_EQ(local.entries().size(), LocalAddresses::kMaxAddresses);
}

TEST(LocalAddresses, OnLinkComparesThePrefixToTheBit) {
  for (unsigned prefix = 0; prefix <= 32; ++prefix) {
    LocalAddresses local;
    ASSERT_TRUE(local.add(v4(10, 20, 30, 40), prefix));
    for (unsigned bit = 0; bit < 32; ++bit) {
      Gid peer = v4(10, 20, 30, 40);
      peer.bytes[12 + bit / 8] = static_cast<uint8_t>(peer.bytes[12 + bit / 8] ^ (0x80 >> bit % 8));
      EXPECT_EQ(local.on_link(peer), bit >= prefix) << "prefix " << prefix << " bit " << bit;
    }
    EXPECT_FALSE(local.on_link(v6(0, 1)));
  }
}

TEST(LocalAddresses, Ipv6PrefixDoesNotCoverIpv4) {
  LocalAddresses local;
  ASSERT_TRUE(local.add(v6(0, 1), 0));
  EXPECT_TRUE(local.on_link(v6(99, 99)));
  EXPECT_FALSE(local.on_link(v4(10, 0, 0, 1)));
}

TEST(LocalAddresses, ListensToOwnSolicitedNodeAndAllNodes) {
  LocalAddresses local;
  ASSERT_TRUE(local.add(v4(10, 0, 0, 1), 24));
  ASSERT_TRUE(local.add(v6(7, 9), 64));
  EXPECT_TRUE(local.listens_to(v6(7, 9).ipv6()));
  EXPECT_TRUE(local.listens_to(solicited_node_address(v6(7, 9).ipv6())));
  EXPECT_TRUE(local.listens_to(kAllNodes));
  EXPECT_FALSE(local.listens_to(v6(7, 8).ipv6()));
  EXPECT_FALSE(local.listens_to(solicited_node_address(v6(7, 8).ipv6())));
  EXPECT_FALSE(local.listens_to(solicited_node_address(v4(10, 0, 0, 1).ipv6())));
}

TEST(LocalAddresses, PicksASourceOfThePeersPrefixOrFamily) {
  const Gid link_local = Gid::from(link_local_address(kMac));
  LocalAddresses local;
  EXPECT_EQ(local.source_for(v6(0, 1)), std::nullopt);
  ASSERT_TRUE(local.add(link_local, 64));
  EXPECT_EQ(local.source_for(v6(0, 1)), std::nullopt) << "a link-local one does not reach further";
  ASSERT_TRUE(local.add(v6(0, 1), 64));
  ASSERT_TRUE(local.add(v4(10, 0, 0, 1), 24));
  ASSERT_TRUE(local.add(v4(10, 0, 1, 1), 24));
  EXPECT_EQ(local.source_for(v4(10, 0, 1, 7)), v4(10, 0, 1, 1));
  EXPECT_EQ(local.source_for(v4(192, 0, 2, 7)), v4(10, 0, 0, 1));
  EXPECT_EQ(local.source_for(v6(3, 4)), v6(0, 1));
  EXPECT_EQ(local.source_for(Gid::from(link_local_address(kBroadcastMac))), link_local);
}

}  // namespace
}  // namespace roce
