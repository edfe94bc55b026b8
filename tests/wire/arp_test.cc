// ArpPacket: each field at its place.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire/arp.h"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

namespace roce::wire {
namespace {

constexpr std::array<uint8_t, ArpPacket::kSize> kReply = {
    0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 2, 0, 0, 0, 0, 2, 10, 0, 0, 2};

TEST(ArpPacket, ParsesEachField) {
  const auto arp = ArpPacket::parse(kReply.data());
  EXPECT_TRUE(arp.is_ipv4_over_ethernet());
  EXPECT_EQ(arp.operation, kArpReply);
  EXPECT_EQ(arp.sender_mac, (MacAddress{{2, 0, 0, 0, 0, 1}}));
  EXPECT_EQ(arp.sender_ip, (Ipv4Address{{10, 0, 0, 1}}));
  EXPECT_EQ(arp.target_mac, (MacAddress{{2, 0, 0, 0, 0, 2}}));
  EXPECT_EQ(arp.target_ip, (Ipv4Address{{10, 0, 0, 2}}));
}

TEST(ArpPacket, EmitsWhatItParsed) {
  std::array<uint8_t, ArpPacket::kSize> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(i * 9 + 5);
  }
  std::array<uint8_t, ArpPacket::kSize> out{};
  ArpPacket::parse(bytes.data()).emit(out.data());
  EXPECT_EQ(out, bytes);
}

TEST(ArpPacket, OtherNetworksAreNotIpv4OverEthernet) {
  for (const size_t at : {0U, 1U, 2U, 3U, 4U, 5U}) {
    auto bytes = kReply;
    bytes[at] = static_cast<uint8_t>(bytes[at] + 1);
    EXPECT_FALSE(ArpPacket::parse(bytes.data()).is_ipv4_over_ethernet()) << "byte " << at;
  }
}

}  // namespace
}  // namespace roce::wire
