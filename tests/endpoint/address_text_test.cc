// Addresses from and to text.
// SPDX-License-Identifier: BSD-3-Clause
#include "roce/address_text.h"

#include <gtest/gtest.h>

namespace roce {
namespace {

TEST(AddressText, ipv4_goes_both_ways) {
  const auto address = parse_ipv4("192.0.2.1");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->bytes, (std::array<uint8_t, 4>{192, 0, 2, 1}));
  EXPECT_EQ(text_of(*address), "192.0.2.1");
  for (const char* wrong : {"", "192.0.2", "192.0.2.256", "192.0.2.1 ", "192.0.2.1/24", "::1"}) {
    EXPECT_FALSE(parse_ipv4(wrong)) << wrong;
  }
}

TEST(AddressText, prefix_length_is_bounded_and_whole_by_default) {
  EXPECT_EQ(parse_ipv4_prefix("192.0.2.1/24")->length, 24);
  EXPECT_EQ(parse_ipv4_prefix("192.0.2.1")->length, 32);
  EXPECT_EQ(parse_ipv6_prefix("2001:db8::1/64")->length, 64);
  EXPECT_EQ(parse_ipv6_prefix("2001:db8::1")->length, 128);
  EXPECT_EQ(text_of(*parse_ipv6_prefix("2001:DB8:0::1/64")), "2001:db8::1/64");
  for (const char* wrong : {"192.0.2.1/33", "192.0.2.1/", "192.0.2.1/-1", "192.0.2.1/2x", "/24"}) {
    EXPECT_FALSE(parse_ipv4_prefix(wrong)) << wrong;
  }
  EXPECT_FALSE(parse_ipv6_prefix("2001:db8::1/129"));
}

TEST(AddressText, mac_is_six_pairs) {
  const auto mac = parse_mac("02:00:5e:AB:cd:01");
  ASSERT_TRUE(mac);
  EXPECT_EQ(text_of(*mac), "02:00:5e:ab:cd:01");
  for (const char* wrong : {"", "02:00:5e:ab:cd", "02:00:5e:ab:cd:1", "02-00-5e-ab-cd-01",
                            "02:00:5e:ab:cd:0g", "02:00:5e:ab:cd:01:", "+2:00:5e:ab:cd:01"}) {
    EXPECT_FALSE(parse_mac(wrong)) << wrong;
  }
}

TEST(AddressText, gid_takes_either_family) {
  EXPECT_TRUE(parse_gid("192.0.2.9")->is_ipv4());
  EXPECT_EQ(text_of(*parse_gid("192.0.2.9")), "192.0.2.9");
  EXPECT_EQ(text_of(*parse_gid("fe80::1")), "fe80::1");
  EXPECT_FALSE(parse_gid("host"));
}

}  // namespace
}  // namespace roce
