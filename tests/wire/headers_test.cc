// Header values survive emit and parse; codes have the values of the specification.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <gtest/gtest.h>

#include "wire/opcode.h"
#include "wire/syndrome.h"

namespace roce::wire {
namespace {

TEST(Headers, ExtendedHeadersRoundTrip) {
  std::array<uint8_t, 32> b{};
  Reth{0x1122334455667788, 0x99aabbcc, 0x01020304}.emit(b.data());
  EXPECT_EQ(b[0], 0x11);
  EXPECT_EQ(b[15], 0x04);
  EXPECT_EQ(Reth::parse(b.data()).rkey, 0x99aabbccu);
  AtomicEth{8, 7, 6, 5}.emit(b.data());
  EXPECT_EQ(AtomicEth::parse(b.data()).swap_or_add, 6u);
  EXPECT_EQ(AtomicEth::parse(b.data()).compare, 5u);
  Deth{0x80010000, 0, 0xabcdef}.emit(b.data());
  EXPECT_EQ(Deth::parse(b.data()).src_qp, 0xabcdefu);
  Feth{2, 1, 0}.emit(b.data());
  EXPECT_EQ(b[3], 0x12);
  EXPECT_EQ(Feth::parse(b.data()).selectivity, 1);
  Aeth{0x61, 0xfffffe}.emit(b.data());
  EXPECT_EQ(Aeth::parse(b.data()).msn, 0xfffffeu);
}

TEST(Headers, BthKeepsEveryBit) {
  std::array<uint8_t, Bth::kSize> in{0x0b, 0xf0, 0x12, 0x34, 0xff, 1, 2, 3, 0xff, 0xfe, 0xdc, 0xba};
  std::array<uint8_t, Bth::kSize> out{};
  const Bth bth = Bth::parse(in.data());
  EXPECT_TRUE(bth.fecn && bth.becn && bth.ack_req && bth.solicited && bth.mig_req);
  EXPECT_EQ(bth.pad_count, 3);
  EXPECT_EQ(bth.psn, Psn(0xfedcba));
  bth.emit(out.data());
  EXPECT_EQ(in, out);
}

// spec 1.1: which opcodes exist in which class.
TEST(Opcodes, TheTableHasTheRowsOfTheSpecification) {
  size_t known = 0;
  for (const OpcodeInfo& info : kOpcodes) {
    known += info.known ? 1 : 0;
  }
  EXPECT_EQ(known, 25u + 12u + 2u + 1u);  // RC, UC, UD, CNP
  EXPECT_FALSE(kOpcodes[0x2c].known) << "UC has no READ";
  EXPECT_FALSE(kOpcodes[0x6a].known) << "UD has no WRITE";
  EXPECT_TRUE(kOpcodes[0x1c].feth && kOpcodes[0x1c].reth);
  EXPECT_FALSE(kOpcodes[0x0e].aeth) << "READ RESPONSE MIDDLE carries no AETH";
}

// spec 3.2: RNR timer codes; 25 is where Soft-RoCE's table has a typo.
TEST(Syndrome, RnrTimerCodes) {
  EXPECT_EQ(rnr_delay(0), Duration::from_us(655360));
  EXPECT_EQ(rnr_delay(1), Duration::from_us(10));
  EXPECT_EQ(rnr_delay(14), Duration::from_us(1280));
  EXPECT_EQ(rnr_delay(25), Duration::from_us(61440));
  EXPECT_EQ(rnr_delay(31), Duration::from_us(491520));
}

TEST(Syndrome, Kinds) {
  EXPECT_EQ(kind_of(0x1f), AckKind::ack);
  EXPECT_EQ(kind_of(0x2e), AckKind::rnr_nak);
  EXPECT_EQ(kind_of(0x40), AckKind::reserved);
  EXPECT_EQ(kind_of(0x61), AckKind::nak);
  EXPECT_EQ(nak_syndrome(NakCode::remote_access_error), 0x62);
}

TEST(Syndrome, AckTimeoutIsFourMicrosecondsTimesAPowerOfTwo) {
  EXPECT_EQ(ack_timeout(14).ns, 4096 << 14);
  EXPECT_EQ(ack_timeout(31).ns, int64_t{4096} << 31);
}

}  // namespace
}  // namespace roce::wire
