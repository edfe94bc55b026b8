// How long silence has to last to mean a loss.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/round_trip.h"

#include <gtest/gtest.h>

namespace roce {
namespace {

Instant at_us(uint64_t us) {
  return {us * 1000};
}

TEST(RoundTrip, OneMillisecondWhileNothingIsKnown) {
  EXPECT_EQ(RoundTrip().patience(), Duration::from_ms(1));
  EXPECT_EQ(RoundTrip().repair_patience(), Duration::from_ms(1));
}

TEST(RoundTrip, FirstSampleCountsTwiceAndHalfOfItIsDeviation) {
  RoundTrip trip;
  trip.start(Psn(5), at_us(0));
  trip.acknowledged(Psn(5), at_us(10));  // everything before 5
  EXPECT_EQ(trip.patience(), Duration::from_ms(1));
  EXPECT_EQ(trip.usual(), Duration{});
  trip.acknowledged(Psn(6), at_us(20));
  EXPECT_EQ(trip.usual(), Duration::from_us(20));
  EXPECT_EQ(trip.patience(), Duration::from_us(60));
  EXPECT_EQ(trip.repair_patience(), Duration::from_us(60));
}

TEST(RoundTrip, SteadyAnswersBringItDownToTwoRoundTrips) {
  RoundTrip trip;
  for (uint32_t i = 0; i < 100; ++i) {
    const uint64_t start = uint64_t{i} * 100;
    trip.start(Psn(i), at_us(start));
    trip.acknowledged(Psn(i + 1), at_us(start + 20));
  }
  EXPECT_GE(trip.patience(), Duration::from_us(38));
  EXPECT_LE(trip.patience(), Duration::from_us(42));
}

TEST(RoundTrip, CancelledSampleIsNone) {
  RoundTrip trip;
  trip.start(Psn(1), at_us(0));
  trip.cancel();
  trip.acknowledged(Psn(2), at_us(500));
  EXPECT_EQ(trip.patience(), Duration::from_ms(1));
}

TEST(RoundTrip, OneSlowAnswerDoesNotSpoilTheEstimate) {
  RoundTrip trip;
  for (uint32_t i = 0; i < 100; ++i) {
    trip.add_repair(Duration::from_us(30));
  }
  trip.add_repair(Duration::from_s(2));
  EXPECT_LT(trip.repair_patience(), Duration::from_us(90));
}

TEST(RoundTrip, NeverBelowTwentyMicroseconds) {
  RoundTrip trip;
  trip.add_repair(Duration::from_ns(3));
  EXPECT_EQ(trip.repair_patience(), Duration::from_us(20));
}

}  // namespace
}  // namespace roce
