// Histogram: ranks, extremes and moments on fixed samples.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/histogram.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace uroce::app {
namespace {

Histogram of(const std::vector<uint64_t>& values) {
  Histogram histogram;
  for (const uint64_t value : values) {
    histogram.record(value);
  }
  return histogram;
}

TEST(Histogram, empty_one_answers_zero) {
  const Histogram empty;
  EXPECT_EQ(empty.count(), 0U);
  EXPECT_EQ(empty.min(), 0U);
  EXPECT_EQ(empty.max(), 0U);
  EXPECT_EQ(empty.percentile(50), 0U);
  EXPECT_EQ(empty.mean(), 0.0);
  EXPECT_EQ(empty.stdev(), 0.0);
}

TEST(Histogram, percentile_is_the_value_at_the_nearest_rank) {
  const Histogram five = of({15, 20, 35, 40, 50});
  EXPECT_EQ(five.percentile(5), 15U);
  EXPECT_EQ(five.percentile(30), 20U);
  EXPECT_EQ(five.percentile(40), 20U);
  EXPECT_EQ(five.percentile(50), 35U);
  EXPECT_EQ(five.percentile(100), 50U);
  EXPECT_EQ(five.percentile(0), 15U);
  EXPECT_EQ(five.percentile(-1), 15U);
  EXPECT_EQ(five.percentile(200), 50U);
}

TEST(Histogram, rank_is_not_moved_by_rounding) {
  Histogram thousand;
  for (uint64_t v = 1; v <= 1000; ++v) {
    thousand.record(v);
  }
  EXPECT_EQ(thousand.percentile(99.9), 999U);
  EXPECT_EQ(thousand.percentile(99), 990U);
  EXPECT_EQ(thousand.percentile(90), 900U);
  EXPECT_EQ(thousand.percentile(50), 500U);
  EXPECT_EQ(thousand.percentile(0.1), 1U);
  EXPECT_EQ(thousand.percentile(99.91), 1000U);
}

TEST(Histogram, deviation_below_a_microsecond_is_not_lost) {
  const Histogram sample = of({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_DOUBLE_EQ(sample.mean(), 5.0);
  EXPECT_NEAR(sample.stdev(), std::sqrt(32.0 / 7.0), 1e-12);
  // The same spread on a mean of 17 minutes.
  const uint64_t far = 1'000'000'000'000;
  const Histogram shifted =
      of({far + 2, far + 4, far + 4, far + 4, far + 5, far + 5, far + 7, far + 9});
  EXPECT_NEAR(shifted.stdev(), std::sqrt(32.0 / 7.0), 1e-9);
  EXPECT_EQ(of({7}).stdev(), 0.0);
}

TEST(Histogram, deviation_survives_values_too_large_for_the_exact_form) {
  const uint64_t hours = uint64_t{1} << 44U;
  Histogram wide;
  for (int i = 0; i < 500'000; ++i) {
    wide.record(hours);
    wide.record(3 * hours);
  }
  EXPECT_NEAR(wide.mean() / static_cast<double>(2 * hours), 1.0, 1e-12);
  EXPECT_NEAR(wide.stdev() / static_cast<double>(hours), 1.0, 1e-3);
}

TEST(Histogram, large_values_keep_three_significant_digits) {
  constexpr uint32_t kSeed = 7;
  std::mt19937_64 random(kSeed);
  SCOPED_TRACE(kSeed);
  std::vector<uint64_t> values;
  values.reserve(20000);
  for (int i = 0; i < 20000; ++i) {
    values.push_back(random() >> (18U + random() % 40U));
  }
  const Histogram histogram = of(values);
  std::sort(values.begin(), values.end());
  for (const double percent : {1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 99.0, 99.9}) {
    const auto rank = static_cast<size_t>(std::ceil(percent * 200.0 - 1e-9));
    const auto exact = static_cast<double>(values[rank - 1]);
    const auto found = static_cast<double>(histogram.percentile(percent));
    EXPECT_GE(found, exact) << percent;
    EXPECT_LE(found, exact * (1 + 1.0 / 1024) + 1) << percent;
  }
  EXPECT_EQ(histogram.min(), values.front());
  EXPECT_EQ(histogram.max(), values.back());
}

TEST(Histogram, classes_follow_each_other_without_gap_or_overlap) {
  for (uint64_t value = 1; value < Histogram::kMaxNs / 2; value = value * 3 / 2 + 1) {
    const Histogram two = of({value, Histogram::kMaxNs});
    EXPECT_GE(two.percentile(50), value);
    EXPECT_LE(two.percentile(50) - value, value / 1024);
    // The first value of the next class is told apart.
    const uint64_t end = two.percentile(50);
    EXPECT_GT(of({end + 1, Histogram::kMaxNs}).percentile(50), end);
  }
}

TEST(Histogram, values_beyond_the_last_class_still_count_and_show_as_greatest) {
  const Histogram histogram = of({1, UINT64_MAX / 2});
  EXPECT_EQ(histogram.count(), 2U);
  EXPECT_NEAR(histogram.mean(), static_cast<double>(Histogram::kMaxNs) / 2, 1.0);
  EXPECT_EQ(histogram.max(), UINT64_MAX / 2);
  EXPECT_EQ(histogram.percentile(100), UINT64_MAX / 2);
}

TEST(Histogram, merged_ones_equal_one_of_all_values) {
  Histogram a = of({1, 5000, 70000});
  const Histogram b = of({3, 900});
  a.merge(b);
  const Histogram all = of({1, 5000, 70000, 3, 900});
  EXPECT_EQ(a.count(), all.count());
  EXPECT_EQ(a.min(), all.min());
  EXPECT_EQ(a.max(), all.max());
  EXPECT_EQ(a.percentile(50), 900U);
  EXPECT_DOUBLE_EQ(a.mean(), all.mean());
  EXPECT_DOUBLE_EQ(a.stdev(), all.stdev());
  a.merge(Histogram());
  EXPECT_EQ(a.min(), 1U);
  a.clear();
  EXPECT_EQ(a.count(), 0U);
  EXPECT_EQ(a.percentile(50), 0U);
}

}  // namespace
}  // namespace uroce::app
