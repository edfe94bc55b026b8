// Counts of the kernel itself stand in for the processor's, which many machines do not have.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/processor_counts.h"

#include <linux/perf_event.h>

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace uroce::app {
namespace {

constexpr ProcessorCounts::Event kTime = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK};  // ns
constexpr ProcessorCounts::Event kNone = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_MAX};

void spin(std::chrono::milliseconds length) {
  const auto end = std::chrono::steady_clock::now() + length;
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST(ProcessorCounts, GrowWithWhatThisThreadDoes) {
  const ProcessorCounts counts(kTime, kTime);
  const auto before = counts.spent();
  if (!before) {
    GTEST_SKIP() << "the kernel lets nobody count; sysctl kernel.perf_event_paranoid=2";
  }
  spin(std::chrono::milliseconds(20));
  const auto after = counts.spent();
  ASSERT_TRUE(after.has_value());
  EXPECT_GT(after->cycles - before->cycles, 1e6);
  EXPECT_GT(after->instructions - before->instructions, 1e6);
}

TEST(ProcessorCounts, CoverTheThreadsThatAreThere) {
  std::atomic<bool> end{false};
  std::atomic<bool> runs{false};
  std::thread other([&] {
    while (!end) {
      runs = true;
    }
  });
  while (!runs) {
  }
  const ProcessorCounts counts(kTime, kTime);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // only the other one works
  const auto spent = counts.spent();
  end = true;
  other.join();
  if (!spent) {
    GTEST_SKIP() << "the kernel lets nobody count; sysctl kernel.perf_event_paranoid=2";
  }
  EXPECT_GT(spent->cycles, 1e6);
}

TEST(ProcessorCounts, AreNotThereWhenOneOfThemIsNot) {
  EXPECT_FALSE(ProcessorCounts(kTime, kNone).spent().has_value());
  EXPECT_FALSE(ProcessorCounts(kNone, kTime).spent().has_value());
}

}  // namespace
}  // namespace uroce::app
