// Parsing: golden frames come back byte for byte, and nothing that is cut, flipped or random makes
// the parser read past the end or accept what it must not.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire/packet.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "golden_pcap.h"
#include "wire/fields.h"
#include "wire/icrc.h"

namespace roce::wire {
namespace {

/// A copy on the heap of exactly the frame's size, so that a sanitizer sees the first byte too far.
struct ExactCopy {
  explicit ExactCopy(std::span<const uint8_t> from)
      : bytes(std::make_unique<uint8_t[]>(from.size())), size(from.size()) {
    std::memcpy(bytes.get(), from.data(), size);
  }
  std::span<const uint8_t> span() const { return {bytes.get(), size}; }
  std::unique_ptr<uint8_t[]> bytes;
  size_t size;
};

std::vector<uint8_t> sample_frame(uint8_t opcode, size_t payload) {
  Fields f;
  f.ethernet.ethertype = kEtherTypeIpv4;
  f.ip = Ipv4Header{};
  f.bth.opcode = opcode;
  f.bth.dest_qp = 0x123456;
  f.payload.assign(payload, 0x5a);
  complete(f);
  return emit(f);
}

DropReason reason_of(std::vector<uint8_t> frame) {
  Packet packet;
  const ParseResult result = parse(ExactCopy(frame).span(), packet);
  return result.kind == FrameKind::bad ? result.reason : DropReason::none;
}

void fix_ip_checksum(std::vector<uint8_t>& frame) {
  frame[24] = frame[25] = 0;
  store_be<uint16_t>(&frame[24], Ipv4Header::checksum_of(&frame[14]));
}

TEST(Packet, EveryGoldenFrameParsesVerifiesAndComesBackByteForByte) {
  size_t frames = 0;
  for (const std::string& name : test::golden_names()) {
    for (const auto& golden : test::golden_frames(name)) {
      Packet packet;
      ASSERT_EQ(parse(golden.bytes, packet).kind, FrameKind::roce) << name;
      EXPECT_TRUE(icrc_ok(packet.l3, packet.l3_len)) << name;
      const Fields fields = decode(golden.bytes, packet);
      EXPECT_EQ(emit(fields), golden.bytes) << name;
      Fields again = fields;
      complete(again);
      EXPECT_EQ(emit(again), golden.bytes) << name << ": computed lengths and checks";
      ++frames;
    }
  }
  EXPECT_EQ(frames, 528u);
}

TEST(Packet, EveryTruncationOfEveryGoldenFrameIsRefused) {
  for (const std::string& name : test::golden_names()) {
    for (const auto& golden : test::golden_frames(name)) {
      const size_t step = golden.bytes.size() > 300 ? 37 : 1;
      for (size_t len = 0; len < golden.bytes.size(); len += step) {
        const ExactCopy cut(std::span(golden.bytes).first(len));
        Packet packet;
        EXPECT_NE(parse(cut.span(), packet).kind, FrameKind::roce) << name << " cut to " << len;
      }
    }
  }
}

TEST(Packet, RandomBytesNeverReadPastTheEnd) {
  constexpr uint64_t kSeed = 20261129;
  SCOPED_TRACE(kSeed);
  Prng prng(kSeed);
  for (int i = 0; i < 200'000; ++i) {
    std::vector<uint8_t> frame = sample_frame(static_cast<uint8_t>(prng.next()), prng.next() % 64);
    for (uint64_t flips = prng.next() % 8; flips > 0; --flips) {
      frame[prng.next() % frame.size()] ^= static_cast<uint8_t>(prng.next());
    }
    if (prng.next() % 2 == 0) {
      fix_ip_checksum(frame);
    }
    frame.resize(prng.next() % (frame.size() + 1));
    const ExactCopy copy(frame);
    Packet packet;
    if (parse(copy.span(), packet).kind == FrameKind::roce) {
      const uint8_t* const end = packet.payload + packet.payload_len + packet.pad_count + kIcrcSize;
      EXPECT_LE(end, copy.span().data() + copy.size);
      EXPECT_EQ(end, packet.l3 + packet.l3_len);
    }
  }
}

TEST(Packet, UnderlayFaultsHaveTheirReasons) {
  const auto good = sample_frame(0x04, 16);
  EXPECT_EQ(reason_of(good), DropReason::none);
  const auto with = [&](auto change, bool checksum = true) {
    auto frame = good;
    change(frame);
    if (checksum) {
      fix_ip_checksum(frame);
    }
    return reason_of(frame);
  };
  EXPECT_EQ(with([](auto& f) {
              f[12] = 0x86;
              f[13] = 0xdb;
            }),
            DropReason::unknown_ethertype);
  EXPECT_EQ(with([](auto& f) { f[14] = 0x65; }), DropReason::ip_version);
  EXPECT_EQ(with([](auto& f) { f[14] = 0x46; }), DropReason::ip_header_length);
  EXPECT_EQ(with([](auto& f) { f[22] ^= 1; }, false), DropReason::ip_checksum);
  EXPECT_EQ(with([](auto& f) { f[17] = 0xff; }), DropReason::ip_total_length);
  EXPECT_EQ(with([](auto& f) { f[20] = 0x20; }), DropReason::ip_fragment);
  EXPECT_EQ(with([](auto& f) { f[21] = 1; }), DropReason::ip_fragment);
  EXPECT_EQ(with([](auto& f) { f[23] = 6; }), DropReason::ip_protocol);
  EXPECT_EQ(with([](auto& f) { f[37] ^= 1; }), DropReason::udp_port);
  EXPECT_EQ(with([](auto& f) { f[39] ^= 1; }), DropReason::udp_length);
}

TEST(Packet, HeaderFaultsHaveTheirReasons) {
  auto frame = sample_frame(0x04, 16);
  frame[43] |= 1;
  EXPECT_EQ(reason_of(frame), DropReason::transport_version);
  frame = sample_frame(0x04, 16);
  frame[42] = 0x44;  // reliable datagram
  EXPECT_EQ(reason_of(frame), DropReason::unknown_opcode);
  frame = sample_frame(0x04, 0);
  frame[42] = 0x0a;  // WRITE ONLY without room for its RETH
  EXPECT_EQ(reason_of(frame), DropReason::headers_too_short);
  frame = sample_frame(0x04, 0);
  frame[43] |= 0x30;  // more pad than there are bytes
  EXPECT_EQ(reason_of(frame), DropReason::headers_too_short);
}

TEST(Packet, AReservedRcOpcodeReachesTheQueuePair) {
  Packet packet;
  const auto frame = sample_frame(0x15, 8);
  ASSERT_EQ(parse(frame, packet).kind, FrameKind::roce);
  EXPECT_FALSE(packet.info->known);
}

TEST(Packet, VlanTagsAndPaddingOfShortFramesAreSkipped) {
  Fields f;
  f.ethernet.ethertype = kEtherTypeVlan;
  f.vlan = VlanTag{5, false, 42, kEtherTypeIpv6};
  Ipv6Header ip;
  ip.traffic_class = 3;
  f.ip = ip;
  f.bth.opcode = 0x11;
  f.aeth = {kSyndromeAck, 7};
  complete(f);
  auto frame = emit(f);
  frame.resize(frame.size() + 20);
  Packet packet;
  ASSERT_EQ(parse(frame, packet).kind, FrameKind::roce);
  EXPECT_TRUE(packet.ipv6);
  EXPECT_TRUE(packet.congestion_experienced());
  EXPECT_EQ(packet.aeth().msn, 7u);
  EXPECT_EQ(packet.payload_len, 0u);
  EXPECT_TRUE(icrc_ok(packet.l3, packet.l3_len));
}

TEST(Packet, ArpAndIcmpAreForSomebodyElse) {
  auto frame = sample_frame(0x04, 16);
  frame[12] = 0x08;
  frame[13] = 0x06;
  Packet packet;
  EXPECT_EQ(parse(frame, packet).kind, FrameKind::other);
  frame = sample_frame(0x04, 16);
  frame[23] = 1;
  fix_ip_checksum(frame);
  EXPECT_EQ(parse(frame, packet).kind, FrameKind::other);
}

}  // namespace
}  // namespace roce::wire
