// The time stamp counter as an Instant.
// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "port/dpdk/dpdk_clock.h"

namespace roce::test {
namespace {

TEST(TscClock, ConvertsTicksOfAnyFrequency) {
  EXPECT_EQ(TscClock(1'000'000'000).at(12345).ns, 12345U);
  EXPECT_EQ(TscClock(2'000'000'000).at(3'000'000'000).ns, 1'500'000'000U);
  EXPECT_EQ(TscClock(500'000'000).at(7).ns, 14U);
}

TEST(TscClock, StaysWithinABillionthOverYears) {
  constexpr uint64_t kHz = 2'099'999'123;
  constexpr uint64_t kSeconds = 10ULL * 365 * 86400;
  const uint64_t ns = TscClock(kHz).at(kHz * kSeconds).ns;
  EXPECT_NEAR(static_cast<double>(ns) / (static_cast<double>(kSeconds) * 1e9), 1.0, 1e-9);
}

TEST(TscClock, RunsAsFastAsTheSystemClock) {
  const TscClock clock = TscClock::from_eal();
  const auto wall = std::chrono::steady_clock::now();
  const Instant start = clock.now();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const Duration tsc = clock.now() - start;
  const std::chrono::duration<double, std::nano> real = std::chrono::steady_clock::now() - wall;
  // Wide, as the thread may be taken off its CPU between two readings.
  EXPECT_NEAR(static_cast<double>(tsc.ns) / real.count(), 1.0, 0.2);
}

TEST(TscClock, AgreesAcrossInstances) {
  const TscClock one = TscClock::from_eal();
  const TscClock two = TscClock::from_eal();
  EXPECT_EQ(one.at(123456789).ns, two.at(123456789).ns);
  const Instant first = one.now();
  EXPECT_GE(two.now(), first);
}

}  // namespace
}  // namespace roce::test
