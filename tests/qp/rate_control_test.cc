// DCQCN's reaction point: cuts, recovery, pacing.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/rate_control.h"

#include <gtest/gtest.h>

namespace roce {
namespace {

constexpr double kLine = 10e9 / 8;  // 10 Gbit/s
constexpr Instant kStart{1'000'000'000};

TEST(RateControl, WithoutNotificationsNothingIsPaced) {
  RateControl control(kLine);
  control.on_sent(kStart, 1'000'000);
  EXPECT_TRUE(control.may_send(kStart));
  EXPECT_EQ(control.rate(), kLine);
}

TEST(RateControl, TheFirstNotificationHalvesTheRateAndPacketsWaitTheirTurn) {
  RateControl control(kLine);
  control.on_cnp(kStart);
  EXPECT_DOUBLE_EQ(control.rate(), kLine / 2);
  control.on_sent(kStart, 6250);  // 10 us at 5 Gbit/s
  EXPECT_FALSE(control.may_send(kStart + Duration::from_ns(9'990)));
  EXPECT_TRUE(control.may_send(kStart + Duration::from_us(10)));
}

TEST(RateControl, NotificationsOfOneMomentCountOnce) {
  RateControl control(kLine);
  control.on_cnp(kStart);
  control.on_cnp(kStart + Duration::from_us(49));
  EXPECT_DOUBLE_EQ(control.rate(), kLine / 2);
  control.on_cnp(kStart + Duration::from_us(50));
  EXPECT_LT(control.rate(), kLine / 3);
}

TEST(RateControl, TheRateComesBackHalfWayFirstAndToTheLineInTheEnd) {
  RateControl control(kLine);
  control.on_cnp(kStart);
  Instant now = kStart + RateControl::kIncreaseInterval;
  control.on_sent(now, 100);
  EXPECT_DOUBLE_EQ(control.rate(), kLine * 3 / 4);
  for (int i = 0; i < 100; ++i) {
    now = now + RateControl::kIncreaseInterval;
    control.on_sent(now, 100);
  }
  EXPECT_EQ(control.rate(), kLine);
  EXPECT_TRUE(control.may_send(now));
}

TEST(RateControl, ItNeverStopsAltogether) {
  RateControl control(kLine);
  for (int i = 0; i < 1000; ++i) {
    control.on_cnp(kStart + Duration::from_us(int64_t{50} * i));
  }
  EXPECT_EQ(control.rate(), RateControl::kMinRate);
}

}  // namespace
}  // namespace roce
