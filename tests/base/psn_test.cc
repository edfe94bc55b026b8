// Serial number arithmetic around the wrap (rule: PSNs are compared modulo 2^24).
// SPDX-License-Identifier: BSD-3-Clause
#include "base/psn.h"

#include <gtest/gtest.h>

namespace roce {
namespace {

TEST(Psn, DistanceIsSignedAndWraps) {
  EXPECT_EQ(Psn(5).since(Psn(3)), 2);
  EXPECT_EQ(Psn(3).since(Psn(5)), -2);
  EXPECT_EQ(Psn(0).since(Psn(0xffffff)), 1);
  EXPECT_EQ(Psn(0xffffff).since(Psn(0)), -1);
  EXPECT_EQ(Psn(0x800000).since(Psn(1)), 0x7fffff);
  EXPECT_EQ(Psn(0x800001).since(Psn(1)), -0x800000);
}

TEST(Psn, KeepsTwentyFourBits) {
  EXPECT_EQ(Psn(0x1234567).value(), 0x234567u);
  EXPECT_EQ(Psn(0xfffffe) + 3, Psn(1));
  EXPECT_EQ(Psn(1) - 3, Psn(0xfffffe));
}

}  // namespace
}  // namespace roce
