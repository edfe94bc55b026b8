// Tests of Prng against published values of its algorithms.
// SPDX-License-Identifier: BSD-3-Clause
#include "base/prng.h"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

namespace roce::test {
namespace {

TEST(Prng, FollowsThePublishedSplitMix64) {
  uint64_t state = 1234567;
  EXPECT_EQ(splitmix64(state), 6457827717110365317U);
  EXPECT_EQ(splitmix64(state), 3203168211198807973U);
  EXPECT_EQ(splitmix64(state), 9817491932198370423U);
}

TEST(Prng, FollowsThePublishedXoshiro256StarStar) {
  Prng prng(std::array<uint64_t, 4>{1, 2, 3, 4});
  EXPECT_EQ(prng.next(), 11520U);
  EXPECT_EQ(prng.next(), 0U);
  EXPECT_EQ(prng.next(), 1509978240U);
  EXPECT_EQ(prng.next(), 1215971899390074240U);
}

TEST(Prng, RepeatsForTheSameSeedOnly) {
  Prng a(0);
  Prng b(0);
  Prng c(1);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
}

TEST(Prng, StaysBelowItsBoundAndReachesAllOfIt) {
  Prng prng(5);
  std::array<int, 10> seen{};
  for (int i = 0; i < 10000; i++) {
    seen.at(prng.below(10))++;
  }
  for (const int count : seen) {
    EXPECT_NEAR(count, 1000, 150);
  }
  EXPECT_EQ(prng.below(0), 0U);
  EXPECT_EQ(prng.below(1), 0U);
}

TEST(Prng, KnowsNeverAndAlways) {
  Prng prng(6);
  int half = 0;
  for (int i = 0; i < 10000; i++) {
    EXPECT_FALSE(prng.chance(0));
    EXPECT_TRUE(prng.chance(1));
    half += prng.chance(0.5) ? 1 : 0;
  }
  EXPECT_NEAR(half, 5000, 250);
}

}  // namespace
}  // namespace roce::test
