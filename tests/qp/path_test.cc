// Header templates: what a path writes is what the parser and the specification expect.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/path.h"

#include <array>

#include <gtest/gtest.h>

#include "sample_path.h"
#include "wire/ethernet.h"
#include "wire/ipv4.h"
#include "wire/udp.h"

namespace roce {
namespace {

using test::sample_path;

// spec 5.2: the example given there.
TEST(UdpSourcePort, FromTheQpnsOrTheFlowLabel) {
  EXPECT_EQ(udp_source_port(0, 0x11, 0x12), 0xc132);
  EXPECT_EQ(udp_source_port(0, 0x12, 0x11), 0xc132) << "the same both ways";
  EXPECT_EQ(udp_source_port(0x12345, 0x11, 0x12), ((0x12345 & 0x3fff) ^ (0x12345 >> 14)) | 0xc000);
}

TEST(Path, WritesAHeaderThatParsesWithEveryPayloadLength) {
  for (const bool vlan : {false, true}) {
    PathSpec spec = sample_path();
    if (vlan) {
      spec.vlan_id = 7;
    }
    spec.traffic_class = 0x68;
    const Path path(spec);
    for (uint32_t after = 4; after < 4200; after += 4) {
      std::array<uint8_t, 4400> frame{};
      path.write_headers(frame.data(), after);
      frame[path.bth_at()] = 0x04;
      const size_t len = path.bth_at() + wire::Bth::kSize + after;
      wire::Packet packet;
      const auto result = wire::parse({frame.data(), len}, packet);
      ASSERT_EQ(result.kind, wire::FrameKind::roce) << after << " " << name_of(result.reason);
      ASSERT_EQ(packet.payload_len, after - 4);
      ASSERT_EQ(packet.dest_qp, 0x12u);
      ASSERT_EQ(packet.l3[1], 0x68);
    }
  }
}

TEST(Path, MatchesOnlyPacketsFromItsPeerToItself) {
  const Path here(sample_path());
  PathSpec back = sample_path();
  std::swap(back.source, back.destination);
  std::array<uint8_t, 128> frame{};
  const auto packet_of = [&](const Path& path) {
    path.write_headers(frame.data(), 4);
    frame[path.bth_at()] = 0x04;
    wire::Packet packet;
    EXPECT_EQ(wire::parse({frame.data(), path.bth_at() + 16}, packet).kind, wire::FrameKind::roce);
    return packet;
  };
  EXPECT_TRUE(here.matches(packet_of(Path(back))));
  EXPECT_FALSE(here.matches(packet_of(here)));
  back.source = Gid::from(Ipv4Address{{192, 0, 2, 3}});
  EXPECT_FALSE(here.matches(packet_of(Path(back))));
  PathSpec v6 = back;
  v6.source = Gid::from(Ipv6Address{{0xfd, 1}});
  v6.destination = Gid::from(Ipv6Address{{0xfd, 2}});
  EXPECT_FALSE(here.matches(packet_of(Path(v6))));
}

TEST(Path, KnowsThatItLeadsBackToItself) {
  PathSpec spec = sample_path();
  EXPECT_EQ(Path(spec).destination(), Path::Destination::port);
  spec.destination = spec.source;
  EXPECT_EQ(Path(spec).destination(), Path::Destination::local);
}

}  // namespace
}  // namespace roce
