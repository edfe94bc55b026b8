// The parts of uroce-bw that are arithmetic: rate limits, timelines, passes; and gnuplot's script.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "bw/passes.h"
#include "bw/rate_limiter.h"
#include "bw/timeline.h"
#include "common/plot.h"

namespace uroce::bw {
namespace {

TEST(RateLimiter, GivesBurstsAtTheirTime) {
  RateLimiter limiter(1000, 5);  // a burst each 5 ms
  const roce::Instant start{1'000'000};
  limiter.start(start);
  EXPECT_TRUE(limiter.limits());
  EXPECT_EQ(limiter.allowed(start), 5u);
  EXPECT_EQ(limiter.allowed(start + roce::Duration::from_us(4'999)), 5u);
  EXPECT_EQ(limiter.allowed(start + roce::Duration::from_us(5'001)), 10u);
  EXPECT_EQ(limiter.allowed(start + roce::Duration::from_s(1)), 1005u);
  EXPECT_FALSE(RateLimiter(0, 1).limits());
}

TEST(Timeline, InterpolatesAndStaysInItsMemory) {
  Timeline line;
  for (int i = 1; i <= 5000; ++i) {
    line.add(i * 0.001, static_cast<uint64_t>(i) * 10);
  }
  EXPECT_LE(line.marks().size(), Timeline::kMost);
  EXPECT_NEAR(line.at(2.5), 25'000, 1);
  EXPECT_NEAR(line.at(99), 50'000, 1e-9);
  EXPECT_NEAR(line.confidence(), 0, 1) << "the rate is even";
}

TEST(Timeline, AnUnevenRateIsLessSure) {
  Timeline line;
  uint64_t messages = 0;
  for (int i = 1; i <= 1000; ++i) {
    messages += i / 50 % 2 == 0 ? 5 : 15;
    line.add(i * 0.001, messages);
  }
  // Twenty stretches with rates of 5000 and 15000 a second in turn: 2.093 * 5130 / sqrt(20).
  EXPECT_NEAR(line.confidence(), 2401, 120) << "the stretches do not meet the changes exactly";
  EXPECT_EQ(Timeline().confidence(), 0);
}

TEST(Passes, AWarmUpThenEachSize) {
  Options options;
  options.sweep = options.warm_up = true;
  options.iterations = 5000;
  const auto passes = passes_of(options);
  ASSERT_EQ(passes.size(), 24u);
  EXPECT_TRUE(passes.front().quiet);
  EXPECT_EQ(passes.front().options.iterations, 1000u);
  EXPECT_TRUE(passes[1].first);
  EXPECT_EQ(passes[1].options.size, 2u);
  EXPECT_EQ(passes.back().options.size, 8u << 20);
  EXPECT_TRUE(passes.back().last);
}

TEST(Plot, NamesTitleAxesAndCurves) {
  const app::Plot plot{.title = "A \"title\"",
                       .x_label = "size [bytes]",
                       .y_label = "MiB/s",
                       .sizes = true,
                       .nines = false,
                       .curves = {{"one", {{2, 1.5}}}, {"two", {{4, 2.5}}}}};
  const std::string script = app::gnuplot_script(plot, "a.png");
  EXPECT_NE(script.find("set terminal pngcairo"), std::string::npos);
  EXPECT_NE(script.find("set title \"A \\\"title\\\"\""), std::string::npos);
  EXPECT_NE(script.find("set xlabel \"size [bytes]\""), std::string::npos);
  EXPECT_NE(script.find("$data1 << EOD\n4 2.5\nEOD"), std::string::npos);
  EXPECT_NE(script.find("title \"two\""), std::string::npos);
}

}  // namespace
}  // namespace uroce::bw
