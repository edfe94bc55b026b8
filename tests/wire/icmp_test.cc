// ICMP messages: each field at its place, and the checksums of frames made by other programs.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icmp.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <gtest/gtest.h>

namespace roce::wire {
namespace {

constexpr Ipv6Address kSource{{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};
constexpr Ipv6Address kTarget{{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

TEST(IcmpEcho, ParsesAndEmitsEachField) {
  const std::array<uint8_t, IcmpEcho::kSize> bytes = {8, 1, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc};
  const auto echo = IcmpEcho::parse(bytes.data());
  EXPECT_EQ(echo.type, kIcmpEchoRequest);
  EXPECT_EQ(echo.code, 1);
  EXPECT_EQ(echo.checksum, 0x1234);
  EXPECT_EQ(echo.identifier, 0x5678);
  EXPECT_EQ(echo.sequence, 0x9abc);
  std::array<uint8_t, IcmpEcho::kSize> out{};
  echo.emit(out.data());
  EXPECT_EQ(out, bytes);
}

TEST(NeighbourMessage, ParsesAndEmitsEachFlag) {
  for (const int flags : {0x00, 0x80, 0x40, 0x20, 0xe0}) {
    std::array<uint8_t, NeighbourMessage::kSize> bytes = {136, 0, 0xab, 0xcd,
                                                          static_cast<uint8_t>(flags)};
    std::copy(kTarget.bytes.begin(), kTarget.bytes.end(), bytes.begin() + 8);
    const auto message = NeighbourMessage::parse(bytes.data());
    EXPECT_EQ(message.type, kIcmpv6NeighbourAdvertisement);
    EXPECT_EQ(message.checksum, 0xabcd);
    EXPECT_EQ(message.router, (flags & 0x80) != 0);
    EXPECT_EQ(message.solicited, (flags & 0x40) != 0);
    EXPECT_EQ(message.override, (flags & 0x20) != 0);
    EXPECT_EQ(message.target, kTarget);
    std::array<uint8_t, NeighbourMessage::kSize> out{};
    message.emit(out.data());
    EXPECT_EQ(out, bytes);
  }
}

TEST(LinkAddressOption, ParsesAndEmitsEachField) {
  const std::array<uint8_t, LinkAddressOption::kSize> bytes = {2, 1, 2, 0, 0, 0, 0, 9};
  const auto option = LinkAddressOption::parse(bytes.data());
  EXPECT_EQ(option.type, LinkAddressOption::kTarget);
  EXPECT_EQ(option.length, 1);
  EXPECT_EQ(option.mac, (MacAddress{{2, 0, 0, 0, 0, 9}}));
  std::array<uint8_t, LinkAddressOption::kSize> out{};
  option.emit(out.data());
  EXPECT_EQ(out, bytes);
}

TEST(IcmpChecksum, OfAnEchoRequestWithOddLength) {
  std::array<uint8_t, 13> ping = {8, 0, 0, 0, 0x12, 0x34, 0, 7, 'a', 'b', 'c', 'd', 'e'};
  EXPECT_EQ(icmp_checksum(ping.data(), ping.size()), 0xbbfd);
  store_be<uint16_t>(ping.data() + kIcmpChecksumAt, 0xbbfd);
  EXPECT_EQ(icmp_checksum(ping.data(), ping.size()), 0);
}

TEST(Icmpv6Checksum, CoversAddressesAndLength) {
  std::array<uint8_t, 13> ping = {128, 0, 0, 0, 0x12, 0x34, 0, 7, 'a', 'b', 'c', 'd', 'e'};
  EXPECT_EQ(icmpv6_checksum(kSource, kTarget, ping.data(), ping.size()), 0xe840);
  store_be<uint16_t>(ping.data() + kIcmpChecksumAt, 0xe840);
  EXPECT_EQ(icmpv6_checksum(kSource, kTarget, ping.data(), ping.size()), 0);
  EXPECT_NE(icmpv6_checksum(kSource, kSource, ping.data(), ping.size()), 0);
}

}  // namespace
}  // namespace roce::wire
