// How often the helper of an assisted engine looks. SPDX-License-Identifier: BSD-3-Clause
#include "helper_pace.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace roce::verbs {
namespace {

constexpr Duration kTurn = Duration::from_us(1);

/// Enough to count as polling.
void poll(HelperPace& pace, Duration since_last_turn = kTurn) {
  for (uint32_t i = 0; i <= HelperPace::kFewPolls; ++i) {
    pace.note_poll(since_last_turn);
  }
}

TEST(HelperPace, TheEngineIsTheHelpersWhileNobodyPolls) {
  HelperPace pace;
  EXPECT_EQ(pace.nap(), Duration{});
  poll(pace);
  EXPECT_GT(pace.nap(), Duration{});
  EXPECT_EQ(pace.nap(), Duration{});
}

TEST(HelperPace, WhoPollsWithoutAPauseIsLookedAtEverMoreRarely) {
  HelperPace pace;
  Duration last = HelperPace::kShortest;
  while (last < HelperPace::kLongest) {
    poll(pace, HelperPace::kPause);
    const Duration nap = pace.nap();
    EXPECT_GT(nap, last);
    last = nap;
  }
  poll(pace);
  EXPECT_EQ(pace.nap(), HelperPace::kLongest);
}

TEST(HelperPace, WhoPausesIsLookedAtMoreOften) {
  HelperPace pace;
  for (int i = 0; i < 10; ++i) {
    poll(pace);
    pace.nap();
  }
  Duration last = HelperPace::kLongest;
  while (last > HelperPace::kShortest) {
    poll(pace, HelperPace::kPause + Duration::from_ns(1));
    poll(pace);
    const Duration nap = pace.nap();
    EXPECT_LT(nap, last);
    last = nap;
  }
  poll(pace);
  EXPECT_GT(pace.nap(), last) << "a pause counts once";
}

TEST(HelperPace, WhoHasCeasedToPollIsLookedAtSoonAfterItsNextPoll) {
  HelperPace pace;
  for (int i = 0; i < 10; ++i) {
    poll(pace);
    pace.nap();
  }
  EXPECT_EQ(pace.nap(), Duration{});
  poll(pace);
  EXPECT_LE(pace.nap(), HelperPace::kShortest + HelperPace::kShortest);
}

TEST(HelperPace, TheEngineIsTheHelpersWhenTheApplicationIsAboutToWait) {
  HelperPace pace;
  poll(pace);
  pace.note_wait();
  EXPECT_EQ(pace.nap(), Duration{});
  // Once more after arming, as one should, and some after waking.
  for (uint32_t i = 0; i < HelperPace::kFewPolls; ++i) {
    pace.note_poll(kTurn);
    EXPECT_EQ(pace.nap(), Duration{});
  }
  pace.note_poll(kTurn);
  EXPECT_GT(pace.nap(), Duration{}) << "that is polling";
}

// Each would take an hour if nobody woke the sleeper.
constexpr Duration kHour = Duration::from_s(3600);

TEST(HelperPace, WhoIsAboutToWaitWakesTheHelper) {
  HelperPace pace;
  pace.note_wait();  // before it has fallen asleep
  pace.sleep(kHour);
  for (int i = 0; i < 100; ++i) {
    pace.nap();
    std::thread helper([&pace] { pace.sleep(kHour); });
    for (int n = 0; n < i; ++n) {
      std::this_thread::yield();
    }
    pace.note_wait();
    pace.note_wait();
    helper.join();
  }
  pace.nap();
  const auto start = std::chrono::steady_clock::now();
  pace.sleep(Duration::from_ms(2));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(2))
      << "none of these wakes it again";
}

}  // namespace
}  // namespace roce::verbs
