// LinkResponder: every frame it sends is compared byte by byte with one written down beforehand,
// and broken input of every kind is shown to do nothing.
// SPDX-License-Identifier: BSD-3-Clause
#include "net/link_responder.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "net/link_bytes.h"

namespace roce {
namespace {

using namespace test;

constexpr MacAddress kOwnMac{{0x02, 0, 0, 0, 0, 0x01}};
constexpr MacAddress kPeerMac{{0x02, 0, 0, 0, 0, 0x02}};
constexpr Gid kOwn4 = Gid::from(Ipv4Address{{10, 0, 0, 1}});
constexpr Gid kPeer4 = Gid::from(Ipv4Address{{10, 0, 0, 2}});
constexpr Gid kOwn6{{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
constexpr Gid kPeer6{{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};
constexpr Instant kNow{1'000'000'000};

class LinkResponderTest : public testing::Test {
 protected:
  LinkResponderTest() {
    local_.mac = kOwnMac;
    EXPECT_TRUE(local_.add(kOwn4, 24));
    EXPECT_TRUE(local_.add(kOwn6, 64));
    EXPECT_TRUE(local_.add(Gid::from(link_local_address(kOwnMac)), 64));
  }

  /// Hands the frame over in memory of exactly its size, so that ASan sees a read past its end.
  bool receive(const Bytes& frame) {
    const auto exact = std::make_unique<uint8_t[]>(frame.size());
    std::copy(frame.begin(), frame.end(), exact.get());
    return responder_.on_frame(kNow, {exact.get(), frame.size()});
  }

  /// The next frame to send; empty when there is none.
  Bytes pull(size_t capacity = kMaxLinkFrame) {
    const bool wanted = responder_.wants_tx();
    Bytes out(capacity, 0xee);
    out.resize(responder_.pull(kNow, out.data(), capacity));
    EXPECT_TRUE(wanted || out.empty());
    return out;
  }

  /// Receives a frame that concerns us but must have no effect except for one counter.
  void expect_nothing_but(uint64_t LinkCounters::*counter, const Bytes& frame) {
    const uint64_t before = responder_.counters().*counter;
    EXPECT_TRUE(receive(frame));
    EXPECT_EQ(responder_.counters().*counter, before + 1);
    EXPECT_FALSE(responder_.wants_tx());
    EXPECT_EQ(neighbours_.size(), 0U);
  }

  LocalAddresses local_;
  NeighbourTable neighbours_{local_, NeighbourConfig{}};
  LinkResponder responder_{local_, neighbours_};
};

TEST_F(LinkResponderTest, AnswersArpRequestAndLearnsWhoAsked) {
  EXPECT_TRUE(receive(kArpRequest));
  EXPECT_EQ(pull(), kArpReply);
  EXPECT_EQ(pull(), Bytes{});
  EXPECT_EQ(neighbours_.lookup(kPeer4).mac, kPeerMac);
  EXPECT_EQ(responder_.counters().requests, 1U);
}

TEST_F(LinkResponderTest, AnswersArpProbeWithoutLearning) {
  EXPECT_TRUE(receive(kArpProbe));
  EXPECT_EQ(pull(), kArpProbeReply);
  EXPECT_EQ(neighbours_.size(), 0U);
}

TEST_F(LinkResponderTest, AnswersSolicitationAndLearnsWhoAsked) {
  EXPECT_TRUE(receive(kSolicitation));
  EXPECT_EQ(pull(), kAdvertisement);
  EXPECT_EQ(neighbours_.lookup(kPeer6).mac, kPeerMac);
}

TEST_F(LinkResponderTest, AnswersUnicastSolicitationWithoutOption) {
  EXPECT_TRUE(receive(kSolicitationWithoutOption));
  EXPECT_EQ(pull(), kAdvertisement);
  EXPECT_EQ(neighbours_.size(), 0U);
}

TEST_F(LinkResponderTest, AnswersAddressProbeToAllNodes) {
  EXPECT_TRUE(receive(kProbe));
  EXPECT_EQ(pull(), kProbeAdvertisement);
  EXPECT_EQ(neighbours_.size(), 0U);
}

TEST_F(LinkResponderTest, AnswersPings) {
  EXPECT_TRUE(receive(kPing));
  EXPECT_TRUE(receive(kPing6));
  EXPECT_EQ(pull(), kPong);
  EXPECT_EQ(pull(), kPong6);
  EXPECT_EQ(responder_.counters().echoes, 2U);
  EXPECT_EQ(neighbours_.size(), 0U);
}

TEST_F(LinkResponderTest, IgnoresEthernetPaddingAfterTheIpPacket) {
  Bytes frame = kPing;
  frame.resize(60, 0xff);
  EXPECT_TRUE(receive(frame));
  EXPECT_EQ(pull(), kPong);
}

TEST_F(LinkResponderTest, AnswersTheLongestPingAndNoLonger) {
  EXPECT_TRUE(receive(long_ping(1472)));
  const Bytes reply = pull();
  ASSERT_EQ(reply.size(), 1514U);
  EXPECT_EQ(wire::icmp_checksum(reply.data() + kIcmp4, reply.size() - kIcmp4), 0U);
  EXPECT_TRUE(
      std::all_of(reply.begin() + kIcmp4 + 13, reply.end(), [](uint8_t b) { return b == 0x5a; }));
  expect_nothing_but(&LinkCounters::echoes_too_long, long_ping(1473));
}

TEST_F(LinkResponderTest, AnnouncesEveryOwnAddress) {
  responder_.announce();
  EXPECT_EQ(pull(), kGratuitousArp);
  EXPECT_EQ(pull(), kOwnAnnouncement);
  EXPECT_EQ(pull(), kLinkLocalAnnouncement);
  EXPECT_EQ(pull(), Bytes{});
  EXPECT_FALSE(responder_.wants_tx());
}

TEST_F(LinkResponderTest, ResolvesByArp) {
  EXPECT_EQ(neighbours_.request(kPeer4, kNow), NeighbourState::pending);
  EXPECT_EQ(pull(), kOwnArpRequest);
  EXPECT_EQ(pull(), Bytes{});
  EXPECT_TRUE(receive(kPeerArpReply));
  EXPECT_EQ(neighbours_.lookup(kPeer4).state, NeighbourState::resolved);
  EXPECT_EQ(neighbours_.lookup(kPeer4).mac, kPeerMac);
  EXPECT_EQ(responder_.counters().answers, 1U);
}

TEST_F(LinkResponderTest, ResolvesByNeighbourDiscovery) {
  EXPECT_EQ(neighbours_.request(kPeer6, kNow), NeighbourState::pending);
  EXPECT_EQ(pull(), kOwnSolicitation);
  EXPECT_TRUE(receive(kPeerAdvertisement));
  EXPECT_EQ(neighbours_.lookup(kPeer6).mac, kPeerMac);
}

TEST_F(LinkResponderTest, AnnouncementOfAKnownNeighbourMovesIt) {
  neighbours_.request(kPeer4, kNow);
  pull();
  EXPECT_TRUE(receive(kPeerArpReply));
  // The peer broadcasts a gratuitous request from another Ethernet address.
  Bytes moved = kArpRequest;
  moved[11] = moved[27] = 0x22;
  std::copy_n(moved.begin() + 28, 4, moved.begin() + 38);
  EXPECT_TRUE(receive(moved));
  EXPECT_EQ(neighbours_.lookup(kPeer4).mac, (MacAddress{{2, 0, 0, 0, 0, 0x22}}));
  EXPECT_FALSE(responder_.wants_tx());
}

TEST_F(LinkResponderTest, RetriesAndFailsInVirtualTime) {
  EXPECT_EQ(responder_.deadline(), kNever);
  neighbours_.request(kPeer4, kNow);
  std::vector<Instant> sent;
  Bytes out(kMaxLinkFrame);
  for (Instant now = kNow; now != kNever; now = responder_.deadline()) {
    responder_.on_timeout(now);
    while (responder_.pull(now, out.data(), out.size()) != 0) {
      sent.push_back(now);
    }
  }
  ASSERT_EQ(sent.size(), 8U);
  for (size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(sent[i] - kNow, Duration::from_ms(250) * static_cast<int64_t>(i));
  }
  EXPECT_EQ(neighbours_.lookup(kPeer4).state, NeighbourState::failed);
}

TEST_F(LinkResponderTest, LearnsNothingThatNobodyAskedFor) {
  expect_nothing_but(&LinkCounters::ignored, kPeerArpReply);
  expect_nothing_but(&LinkCounters::ignored, kPeerAdvertisement);
  expect_nothing_but(&LinkCounters::ignored, with(kArpRequest, 41, 9));  // asks for another node
}

TEST_F(LinkResponderTest, AdvertisementWithoutOverrideKeepsTheOldAddress) {
  neighbours_.request(kPeer6, kNow);
  pull();
  receive(kPeerAdvertisement);
  const Bytes moved = with(kPeerAdvertisement, 85, 0x33);
  EXPECT_TRUE(receive(mended(with(moved, kIcmp6 + 4, 0x40))));
  EXPECT_EQ(neighbours_.lookup(kPeer6).mac, kPeerMac);
  EXPECT_TRUE(receive(mended(with(moved, kIcmp6 + 4, 0x60))));
  EXPECT_EQ(neighbours_.lookup(kPeer6).mac, (MacAddress{{2, 0, 0, 0, 0, 0x33}}));
}

TEST_F(LinkResponderTest, CountsOthersThatClaimOwnAddresses) {
  expect_nothing_but(&LinkCounters::conflicts, with(kArpRequest, 31, 1));
  expect_nothing_but(&LinkCounters::conflicts, mended(with(kPeerAdvertisement, kIcmp6 + 23, 1)));
  expect_nothing_but(&LinkCounters::conflicts, mended(with(kSolicitation, kIp + 23, 1)));
  // Our own frames that come back are no conflict.
  expect_nothing_but(&LinkCounters::ignored, kGratuitousArp);
  expect_nothing_but(&LinkCounters::ignored, kOwnAnnouncement);
}

TEST_F(LinkResponderTest, AllFramesCarryTheConfiguredVlan) {
  local_.vlan = 0x123;
  const std::array<std::pair<const Bytes*, const Bytes*>, 4> pairs = {{
      {&kArpRequest, &kArpReply},
      {&kSolicitation, &kAdvertisement},
      {&kPing6, &kPong6},
      {&kPing, &kPong},
  }};
  for (const auto& [request, reply] : pairs) {
    EXPECT_TRUE(receive(tagged(*request, 5, 0x123)));
    Bytes expected = tagged(*reply, 0, 0x123);
    // The tag takes the place of four bytes of padding.
    const bool short_one = reply->size() == kMinLinkFrame;
    expected.resize(short_one ? kMinLinkFrame : expected.size());
    EXPECT_EQ(pull(), expected);
    EXPECT_FALSE(receive(*request)) << "untagged";
    EXPECT_FALSE(receive(tagged(*request, 0, 0))) << "priority tag only";
    EXPECT_FALSE(receive(tagged(*request, 0, 0x124))) << "another VLAN";
  }
  EXPECT_FALSE(responder_.wants_tx());
}

TEST_F(LinkResponderTest, WithoutVlanTakesPriorityTagsButNoVlan) {
  EXPECT_TRUE(receive(tagged(kArpRequest, 7, 0)));
  EXPECT_EQ(pull(), kArpReply);
  EXPECT_FALSE(receive(tagged(kArpRequest, 7, 1)));
}

TEST_F(LinkResponderTest, LeavesFramesOfOthersAlone) {
  EXPECT_FALSE(receive(with(kArpRequest, 0, 0x02)));   // to another node
  EXPECT_FALSE(receive(with(kArpRequest, 6, 0x03)));   // from a group
  EXPECT_FALSE(receive(with(kArpRequest, 13, 0x07)));  // another EtherType
  EXPECT_FALSE(receive(with(kPing, kIp + 9, 17)));     // UDP
  EXPECT_FALSE(receive(with(kPing6, kIp + 6, 6)));     // TCP
  EXPECT_FALSE(responder_.wants_tx());
}

TEST_F(LinkResponderTest, DropsMalformedArp) {
  const auto malformed = &LinkCounters::malformed;
  for (const size_t at : {14U, 15U, 16U, 17U, 18U, 19U, 20U}) {  // types, lengths, operation
    expect_nothing_but(malformed, with(kArpRequest, at, 0x77));
  }
  expect_nothing_but(malformed, with(kArpRequest, 21, 3));     // operation
  expect_nothing_but(malformed, with(kArpRequest, 22, 0xff));  // sender is a group
}

TEST_F(LinkResponderTest, DropsMalformedPings) {
  const auto malformed = &LinkCounters::malformed;
  expect_nothing_but(malformed, with(kPing, kIp, 0x46));       // IP options
  expect_nothing_but(malformed, with(kPing, kIp, 0x55));       // version
  expect_nothing_but(malformed, with(kPing, kIp + 10, 0));     // IP checksum
  expect_nothing_but(malformed, with(kPing, kIcmp4 + 8, 0));   // ICMP checksum
  expect_nothing_but(malformed, with(kPing6, kIcmp6 + 8, 0));  // ICMPv6 checksum
  expect_nothing_but(malformed, with(kPing6, kIp, 0x40));      // version
  expect_nothing_but(malformed, with(kPing6, kIp + 8, 0xff));  // source is a group
  expect_nothing_but(malformed, with(kPing6, kIp + 5, 200));   // longer than the frame
  const auto ignored = &LinkCounters::ignored;
  expect_nothing_but(ignored, mended(with(kPing, kIp + 6, 0x20)));   // more fragments
  expect_nothing_but(ignored, mended(with(kPing, kIp + 7, 0x01)));   // fragment offset
  expect_nothing_but(ignored, mended(with(kPing, kIp + 12, 224)));   // source is a group
  expect_nothing_but(ignored, mended(with(kPing, kIp + 19, 0xff)));  // subnet broadcast
  expect_nothing_but(ignored, mended(with(kPing, kIcmp4, 3)));       // unreachable
  expect_nothing_but(ignored, mended(with(kPing, kIcmp4 + 1, 1)));   // code
  expect_nothing_but(ignored, mended(with(kPing6, kIcmp6, 1)));      // unreachable
  expect_nothing_but(ignored, mended(with(kPing6, kIp + 39, 7)));    // another node
}

TEST_F(LinkResponderTest, DropsMalformedNeighbourMessages) {
  const auto malformed = &LinkCounters::malformed;
  for (const Bytes* frame : {&kSolicitation, &kPeerAdvertisement}) {
    expect_nothing_but(malformed, mended(with(*frame, kIp + 7, 254)));       // forwarded
    expect_nothing_but(malformed, mended(with(*frame, kIcmp6 + 1, 1)));      // code
    expect_nothing_but(malformed, mended(with(*frame, kIcmp6 + 8, 0xff)));   // target is a group
    expect_nothing_but(malformed, mended(with(*frame, kIcmp6 + 25, 0)));     // empty option
    expect_nothing_but(malformed, mended(with(*frame, kIcmp6 + 25, 2)));     // option too long
    expect_nothing_but(malformed, mended(with(*frame, kIcmp6 + 26, 0x01)));  // a group's MAC
    expect_nothing_but(malformed, with(*frame, kIcmp6 + 2, 0));              // checksum
  }
  // A probe tells no link address, and goes to the solicited-node address.
  Bytes probe = kSolicitation;
  std::fill_n(probe.begin() + kIp + 8, 16, uint8_t{0});
  expect_nothing_but(malformed, mended(probe));
  probe = kSolicitationWithoutOption;
  std::fill_n(probe.begin() + kIp + 8, 16, uint8_t{0});
  expect_nothing_but(malformed, mended(probe));
  // An answer to a solicitation goes to one node.
  Bytes answer = kPeerAdvertisement;
  std::copy(kAllNodes.bytes.begin(), kAllNodes.bytes.end(), answer.begin() + kIp + 24);
  expect_nothing_but(malformed, mended(answer));
  // Somebody else's address.
  expect_nothing_but(&LinkCounters::ignored, mended(with(kSolicitation, kIcmp6 + 22, 9)));
}

TEST_F(LinkResponderTest, TruncatedFramesDoNothingAtAnyLength) {
  for (const Bytes* frame : {&kArpRequest, &kPeerArpReply, &kSolicitation, &kPeerAdvertisement,
                             &kProbe, &kPing, &kPing6}) {
    const size_t whole = (*frame)[13] == 0x06 ? 42 : frame->size();  // ARP is padded
    for (size_t len = 0; len < whole; ++len) {
      const Bytes cut(frame->begin(), frame->begin() + static_cast<ptrdiff_t>(len));
      receive(cut);
      if (len >= 12) {
        receive(tagged(cut, 0, 0));
      }
      EXPECT_FALSE(responder_.wants_tx()) << "length " << len;
      EXPECT_EQ(neighbours_.size(), 0U) << "length " << len;
    }
    // The IPv6 payload ends early, with a length and a checksum that say so.
    for (size_t len = kIcmp6 + 4; (*frame)[12] == 0x86 && len < whole; ++len) {
      Bytes cut(frame->begin(), frame->begin() + static_cast<ptrdiff_t>(len));
      cut[kIp + 5] = static_cast<uint8_t>(len - kIcmp6);
      receive(mended(cut));
      while (!pull().empty()) {
      }
    }
  }
}

TEST_F(LinkResponderTest, SurvivesFramesWithRandomChanges) {
  std::mt19937 random(20240611);
  const std::array<const Bytes*, 6> frames = {&kArpRequest, &kSolicitation, &kPeerAdvertisement,
                                              &kProbe,      &kPing,         &kPing6};
  for (int i = 0; i < 20'000; ++i) {
    Bytes frame = *frames[random() % frames.size()];
    for (auto n = random() % 4; n > 0; --n) {
      frame[random() % frame.size()] = static_cast<uint8_t>(random());
    }
    frame.resize(random() % 2 == 0 ? frame.size() : random() % (frame.size() + 20));
    const bool mendable =
        frame.size() >= 78 && frame[kIp] >> 4 == 6 && frame[kIp + 4] == 0 && frame[kIp + 5] < 25;
    receive(mendable ? mended(frame) : frame);
    if (random() % 2 == 0) {
      const Bytes out = pull();
      EXPECT_TRUE(out.empty() || out.size() >= kMinLinkFrame);
    }
  }
  EXPECT_LE(neighbours_.size(), NeighbourConfig{}.capacity);
}

TEST_F(LinkResponderTest, FloodOfPingsIsBoundedAndLeavesRoomForArp) {
  constexpr size_t kPings = LinkResponder::kMaxReplies - LinkResponder::kReservedReplies;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(receive(kPing));
  }
  EXPECT_EQ(responder_.counters().echoes, kPings);
  EXPECT_EQ(responder_.counters().queue_full, 1000 - kPings);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(receive(kArpRequest));
  }
  EXPECT_EQ(responder_.counters().requests, LinkResponder::kReservedReplies);
  for (size_t i = 0; i < LinkResponder::kMaxReplies; ++i) {
    EXPECT_EQ(pull(), i < kPings ? kPong : kArpReply);
  }
  EXPECT_EQ(pull(), Bytes{});
}

TEST_F(LinkResponderTest, RepliesThatExceedTheCapacityAreDropped) {
  EXPECT_TRUE(receive(long_ping(1000)));
  EXPECT_TRUE(receive(kArpRequest));
  EXPECT_EQ(pull(LinkResponder::kMinPullCapacity - 1), Bytes{});
  EXPECT_EQ(pull(500), kArpReply);
  EXPECT_FALSE(responder_.wants_tx());
}

}  // namespace
}  // namespace roce
