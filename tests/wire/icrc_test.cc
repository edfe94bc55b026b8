// The invariant CRC on frames of a real implementation: which bits it covers and which it does not.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "golden_pcap.h"

namespace roce::wire {
namespace {

constexpr size_t kUdpAndBth = 8 + 12;

std::vector<uint8_t> packet_of(const std::string& file, size_t index) {
  const auto frames = test::golden_frames(file);
  const auto l3 = frames.at(index).l3();
  return {l3.begin(), l3.end()};
}

size_t ip_size(const std::vector<uint8_t>& packet) {
  return packet[0] >> 4 == 6 ? 40 : 20;
}

// Bits of byte `at` that routers and switches may change.
uint8_t variant_bits(const std::vector<uint8_t>& packet, size_t at) {
  const size_t ip = ip_size(packet);
  if (at == ip + 6 || at == ip + 7 || at == ip + 8 + 4) {
    return 0xff;
  }
  if (ip == 20) {
    return at == 1 || at == 8 || at == 10 || at == 11 ? 0xff : 0;
  }
  if (at == 0) {
    return 0x0f;
  }
  return at == 1 || at == 2 || at == 3 || at == 7 ? 0xff : 0;
}

TEST(Icrc, HoldsInEveryGoldenFrame) {
  size_t frames = 0;
  for (const std::string& name : test::golden_names()) {
    for (const auto& frame : test::golden_frames(name)) {
      const auto l3 = frame.l3();
      EXPECT_TRUE(icrc_ok(l3.data(), l3.size())) << name;
      ++frames;
    }
  }
  EXPECT_EQ(frames, 528U);
}

TEST(Icrc, CoversExactlyTheBitsThatDoNotChangeOnTheWay) {
  const std::array<std::pair<const char*, size_t>, 5> samples{{{"rc_send_mtu256.pcap", 0},
                                                               {"rc_send_mtu256.pcap", 1},
                                                               {"rc_atomic.pcap", 0},
                                                               {"v6_rc_send.pcap", 0},
                                                               {"v6_ud_send.pcap", 0}}};
  for (const auto& [file, index] : samples) {
    auto packet = packet_of(file, index);
    for (size_t at = 0; at < packet.size(); ++at) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        const auto flip = static_cast<uint8_t>(1U << bit);
        if (at == 0 && (packet[0] ^ flip) >> 4 != packet[0] >> 4) {
          continue;  // another IP version: not a packet whose ICRC may be asked for
        }
        const bool variant = (variant_bits(packet, at) & flip) != 0;
        packet[at] ^= flip;
        ASSERT_EQ(icrc_ok(packet.data(), packet.size()), variant)
            << file << ", byte " << at << ", bit " << bit;
        packet[at] ^= flip;
      }
    }
  }
}

TEST(Icrc, StateAfterTheHeadersGoesOnWithThePayload) {
  for (const char* file : {"rc_write_mtu1024.pcap", "v6_ud_send.pcap", "rc_send_mtu4096.pcap"}) {
    const auto packet = packet_of(file, 0);
    const size_t covered = packet.size() - kIcrcSize;
    for (size_t headers = ip_size(packet) + kUdpAndBth; headers <= covered; ++headers) {
      uint32_t state = icrc_of_headers(packet.data(), headers);
      state = crc32_update(state, packet.data() + headers, covered - headers);
      std::array<uint8_t, kIcrcSize> stored{};
      store_icrc(stored.data(), icrc_finish(state));
      ASSERT_TRUE(std::equal(stored.begin(), stored.end(), packet.end() - kIcrcSize))
          << file << ", headers " << headers;
    }
  }
}

TEST(Icrc, IsLittleEndian) {
  std::array<uint8_t, kIcrcSize> at{};
  store_icrc(at.data(), 0x01020304);
  EXPECT_EQ(at, (std::array<uint8_t, kIcrcSize>{4, 3, 2, 1}));
}

}  // namespace
}  // namespace roce::wire
