// Damaged packets: one packet of each opcode with each single bit flipped, and with a million
// random pairs of bits. None is accepted, unless all that was flipped is what the ICRC leaves out,
// and that is checked not to matter elsewhere (S23).
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "enumeration/rig.h"
#include "enumeration/wire_table.h"

namespace roce::enumeration {
namespace {

constexpr size_t kBurst = 32;
constexpr size_t kPairs = 1'000'000;
constexpr uint64_t kSeed = 0x5eed'0007;
constexpr uint32_t kPayload = 20;

/// P13, and the Ethernet header, whose checksum no port hands up: bytes of an IPv4 frame that the
/// ICRC leaves out.
bool left_out(size_t byte) {
  constexpr size_t kTos = 15;
  constexpr size_t kTtl = 22;
  constexpr size_t kIpChecksum = 24;
  constexpr size_t kUdpChecksum = 40;
  constexpr size_t kCongestionBits = 46;
  return byte < 14 || byte == kTos || byte == kTtl || byte == kIpChecksum ||
         byte == kIpChecksum + 1 || byte == kUdpChecksum || byte == kUdpChecksum + 1 ||
         byte == kCongestionBits;
}

ibv_qp_type type_of(uint8_t opcode) {
  switch (opcode >> 5) {
    case kUc:
      return IBV_QPT_UC;
    case kUd:
      return IBV_QPT_UD;
    default:
      return IBV_QPT_RC;
  }
}

std::vector<uint8_t> known_opcodes() {
  std::vector<uint8_t> opcodes;
  for (uint32_t opcode = 0; opcode < 256; ++opcode) {
    if (row_of(static_cast<uint8_t>(opcode >> 5), opcode & 0x1f).known()) {
      opcodes.push_back(static_cast<uint8_t>(opcode));
    }
  }
  opcodes.push_back(kCongestion);
  return opcodes;
}

/// Feeds damaged copies of one opcode's packet and sees that none gets anywhere.
class Damage {
 public:
  explicit Damage(uint8_t opcode) : opcode_(opcode) {
    const Row row = row_of(static_cast<uint8_t>(opcode >> 5), opcode & 0x1f);
    // A response needs a request to be accepted at all.
    Context context = Context::nothing;
    if (row.is_response()) {
      context = row.kind == Kind::acknowledge     ? Context::send_sent
                : row.kind == Kind::read_response ? Context::read_sent
                                                  : Context::atomic_sent;
    }
    const Tuple t{type_of(opcode), IBV_QPS_RTS, context, opcode, kPayload, 0};
    rig_.prepare(t);
    const auto frame = rig_.packet(t);
    good_.assign(frame.begin(), frame.end());
    before_ = rig_.device().counters();
  }

  size_t bits() const { return good_.size() * 8; }
  size_t fed() const { return fed_; }

  void flip(std::initializer_list<size_t> bits) {
    if (std::all_of(bits.begin(), bits.end(), [](size_t bit) { return left_out(bit / 8); })) {
      return;
    }
    std::vector<uint8_t>& frame = burst_[filled_];
    frame = good_;
    for (const size_t bit : bits) {
      frame[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    }
    rig_.port().put(frame);
    ++fed_;
    if (++filled_ == kBurst) {
      flush();
    }
  }

  void flush() {
    rig_.run();
    filled_ = 0;
    const EngineCounters now = rig_.device().counters();
    const std::string which = "opcode " + std::to_string(opcode_);
    ASSERT_EQ(now.rcvd_packets, before_.rcvd_packets) << which;
    ASSERT_EQ(now.rcvd_cnp, before_.rcvd_cnp) << which;
    ASSERT_EQ(now.dropped - before_.dropped + now.rcvd_other - before_.rcvd_other, fed_) << which;
    ASSERT_TRUE(rig_.port().sent().empty()) << which;
    ASSERT_FALSE(rig_.has_completions()) << which;
    ASSERT_FALSE(rig_.stored()) << which;
  }

 private:
  Rig rig_;
  uint8_t opcode_;
  std::vector<uint8_t> good_;
  std::array<std::vector<uint8_t>, kBurst> burst_;
  size_t filled_ = 0;
  size_t fed_ = 0;
  EngineCounters before_;
};

TEST(BitFlips, NoPacketWithOneFlippedBitIsAccepted) {
  size_t fed = 0;
  for (const uint8_t opcode : known_opcodes()) {
    Damage damage(opcode);
    for (size_t bit = 0; bit < damage.bits(); ++bit) {
      damage.flip({bit});
    }
    damage.flush();
    fed += damage.fed();
  }
  EXPECT_GT(fed, 20'000u);
}

TEST(BitFlips, NoPacketWithTwoFlippedBitsIsAccepted) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Prng prng(kSeed);
  const std::vector<uint8_t> opcodes = known_opcodes();
  size_t fed = 0;
  for (const uint8_t opcode : opcodes) {
    Damage damage(opcode);
    while (damage.fed() <= kPairs / opcodes.size()) {
      const size_t first = prng.next() % damage.bits();
      const size_t second = prng.next() % damage.bits();
      if (first != second) {
        damage.flip({first, second});
      }
    }
    damage.flush();
    fed += damage.fed();
  }
  EXPECT_GE(fed, kPairs);
}

}  // namespace
}  // namespace roce::enumeration
