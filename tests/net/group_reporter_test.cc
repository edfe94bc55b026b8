// Multicast membership as the link hears of it (RFC 2236, RFC 2710).
// SPDX-License-Identifier: BSD-3-Clause
#include "net/group_reporter.h"

#include <array>

#include <gtest/gtest.h>

#include "wire/ethernet.h"
#include "wire/group_message.h"
#include "wire/icmp.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace roce {
namespace {

constexpr Ipv4Address kGroup4{{239, 1, 2, 3}};
constexpr Ipv6Address kGroup6{{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2}};

class GroupReporterTest : public testing::Test {
 protected:
  GroupReporterTest() {
    local_.mac = {{2, 0, 0, 0, 0, 1}};
    EXPECT_TRUE(local_.add(Gid::from(link_local_address(local_.mac)), 64));
    EXPECT_TRUE(local_.add(Gid::from(Ipv4Address{{192, 0, 2, 1}}), 24));
  }

  /// The next frame, or an empty one.
  size_t pull() { return reporter_.pull(frame_.data()); }
  const uint8_t* l3() const { return frame_.data() + wire::EthernetHeader::kSize; }

  LocalAddresses local_;
  GroupReporter reporter_{local_};
  std::array<uint8_t, GroupReporter::kMaxFrame> frame_{};
  Instant now_{5'000'000'000};
};

TEST_F(GroupReporterTest, AnIpv4GroupIsReportedByIgmpWithRouterAlert) {
  reporter_.join(now_, Gid::from(kGroup4));
  ASSERT_TRUE(reporter_.wants_tx());
  ASSERT_EQ(pull(), 60u);
  EXPECT_EQ(frame_[0], 0x01);
  EXPECT_EQ(frame_[5], 3);
  EXPECT_EQ(l3()[0], 0x46) << "24 bytes of header";
  EXPECT_EQ(wire::checksum_finish(wire::checksum_add(0, l3(), 24)), 0);
  const auto ip = wire::Ipv4Header::parse(l3());
  EXPECT_EQ(ip.ttl, 1);
  EXPECT_EQ(ip.protocol, wire::kIpProtocolIgmp);
  EXPECT_EQ(ip.destination, kGroup4);
  EXPECT_EQ(ip.source, (Ipv4Address{{192, 0, 2, 1}}));
  const auto message = wire::IgmpMessage::parse(l3() + 24);
  EXPECT_EQ(message.type, wire::IgmpMessage::kReport);
  EXPECT_EQ(message.group, kGroup4);
  EXPECT_EQ(wire::checksum_finish(wire::checksum_add(0, l3() + 24, 8)), 0);
  EXPECT_FALSE(reporter_.wants_tx());
}

TEST_F(GroupReporterTest, AnIpv6GroupIsReportedByMldFromTheLinkLocalAddress) {
  reporter_.join(now_, Gid::from(kGroup6));
  ASSERT_EQ(pull(), 14u + 40 + 8 + 24);
  const auto ip = wire::Ipv6Header::parse(l3());
  EXPECT_EQ(ip.next_header, wire::kIpProtocolHopByHop);
  EXPECT_EQ(ip.hop_limit, 1);
  EXPECT_TRUE(ip.source.is_link_local());
  EXPECT_EQ(ip.destination, kGroup6);
  const uint8_t* const message = l3() + 48;
  const auto mld = wire::MldMessage::parse(message);
  EXPECT_EQ(mld.type, wire::MldMessage::kReport);
  EXPECT_EQ(mld.group, kGroup6);
  EXPECT_EQ(wire::icmpv6_checksum(ip.source, ip.destination, message, wire::MldMessage::kSize), 0);
}

TEST_F(GroupReporterTest, ReportsComeAgainAfterASecondAndThenOnceAMinute) {
  EXPECT_EQ(reporter_.deadline(), kNever);
  reporter_.join(now_, Gid::from(kGroup4));
  pull();
  EXPECT_EQ(reporter_.deadline(), now_ + Duration::from_s(1));
  for (const int64_t wait : {1, 60, 60}) {
    now_ = now_ + Duration::from_s(wait);
    reporter_.on_timeout(Instant{now_.ns - 1});
    EXPECT_FALSE(reporter_.wants_tx());
    reporter_.on_timeout(now_);
    EXPECT_TRUE(reporter_.wants_tx());
    EXPECT_GT(pull(), 0u);
  }
}

TEST_F(GroupReporterTest, LeavingIsToldToTheRoutersAndEndsTheReports) {
  reporter_.join(now_, Gid::from(kGroup4));
  reporter_.join(now_, Gid::from(kGroup6));
  pull();
  pull();
  reporter_.leave(Gid::from(kGroup4));
  reporter_.leave(Gid::from(kGroup6));
  reporter_.leave(Gid::from(kGroup6));
  ASSERT_GT(pull(), 0u);
  EXPECT_EQ(wire::Ipv4Header::parse(l3()).destination, (Ipv4Address{{224, 0, 0, 2}}));
  EXPECT_EQ(wire::IgmpMessage::parse(l3() + 24).type, wire::IgmpMessage::kLeave);
  ASSERT_GT(pull(), 0u);
  EXPECT_EQ(wire::MldMessage::parse(l3() + 48).type, wire::MldMessage::kDone);
  EXPECT_FALSE(reporter_.wants_tx()) << "left once";
  reporter_.on_timeout(now_ + Duration::from_s(100));
  EXPECT_FALSE(reporter_.wants_tx());
  EXPECT_EQ(reporter_.deadline(), kNever);
}

}  // namespace
}  // namespace roce
