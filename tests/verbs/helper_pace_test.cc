// How often the helper of an assisted engine looks, in virtual time, and how well it sleeps.
// SPDX-License-Identifier: BSD-3-Clause
#include "helper_pace.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace roce::verbs {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct VirtualClock {
  Instant time{1'000'000'000};
  Instant now() const { return time; }
};

/// A program and its helper.
struct Scene {
  VirtualClock clock;
  HelperPace pace;

  void wait(Duration time) { clock.time = clock.time + time; }
  void poll(uint32_t times = 1) {
    for (uint32_t i = 0; i < times; ++i) {
      pace.note_poll(clock.time);
    }
  }
  Duration look() { return pace.nap(clock); }
  /// So long without a pause.
  void poll_for(Duration time) {
    for (const Instant end = clock.time + time; clock.time < end;) {
      wait(Duration::from_us(1));
      poll();
    }
  }
  /// The helper looks whenever it may, while the program polls.
  void run_for(Duration time) {
    for (const Instant end = clock.time + time; clock.time < end;) {
      poll_for(std::max(look(), Duration::from_us(1)));
    }
  }
};

TEST(HelperPace, TheEngineIsTheHelpersWhileNobodyPolls) {
  Scene s;
  EXPECT_EQ(s.look(), Duration{});
  s.poll(HelperPace::kFewPolls + 1);
  EXPECT_EQ(s.look(), HelperPace::kShortest);
  EXPECT_EQ(s.look(), Duration{});
}

TEST(HelperPace, APollOfSomeTimeAgoIsNoPolling) {
  Scene s;
  s.poll(HelperPace::kFewPolls + 1);
  s.wait(HelperPace::kJustNow + Duration::from_ns(1));
  EXPECT_EQ(s.look(), Duration{});
}

TEST(HelperPace, WhoPollsWithoutAPauseIsLookedAtEverMoreRarely) {
  Scene s;
  s.poll_for(Duration::from_us(50));
  static_cast<void>(s.look());  // the very first poll came after a pause
  s.poll_for(HelperPace::kShortest);
  Duration last{};
  while (last < HelperPace::kLongest) {
    const Duration nap = s.look();
    EXPECT_GT(nap, last);
    s.poll_for(nap);
    last = nap;
  }
  EXPECT_EQ(s.look(), HelperPace::kLongest);
}

TEST(HelperPace, WhoPausesIsLookedAtMoreOften) {
  Scene s;
  s.run_for(Duration::from_ms(10));
  EXPECT_EQ(s.look(), HelperPace::kLongest);
  Duration nap{};
  for (int pauses = 0; pauses < 10; ++pauses) {
    s.wait(HelperPace::kPause + Duration::from_us(1));
    s.poll_for(Duration::from_us(2));
    const Duration last = std::exchange(nap, s.look());
    EXPECT_TRUE(pauses < 2 || nap < last || nap == HelperPace::kShortest);
  }
  EXPECT_EQ(nap, HelperPace::kShortest);
}

TEST(HelperPace, WhoCeasesToPollIsHelpedAfterOneNap) {
  Scene s;
  s.run_for(Duration::from_ms(10));
  const Duration nap = s.look();
  s.poll_for(Duration::from_us(3));  // a few polls more, just after the look
  s.wait(nap - Duration::from_us(3));
  EXPECT_EQ(s.look(), Duration{});
}

TEST(HelperPace, TheEngineIsTheHelpersWhenTheApplicationIsAboutToWait) {
  Scene s;
  s.run_for(Duration::from_ms(10));
  s.poll();
  s.pace.note_wait();
  EXPECT_EQ(s.look(), Duration{});
  // Once more after arming, as one should, and some after waking.
  for (uint32_t i = 0; i < HelperPace::kFewPolls; ++i) {
    s.poll();
    EXPECT_EQ(s.look(), Duration{});
  }
  s.wait(Duration::from_us(1));
  s.poll();
  EXPECT_GT(s.look(), Duration{}) << "that is polling";
}

// Would be slept out if nobody woke the sleeper.
constexpr Duration kHour = Duration::from_s(3600);

TEST(HelperPace, WhoIsAboutToWaitWakesTheHelper) {
  Scene s;
  s.pace.note_wait();  // before it has fallen asleep
  EXPECT_TRUE(s.pace.sleep(kHour));
  for (int i = 0; i < 100; ++i) {
    s.look();
    std::thread helper([&s] { EXPECT_TRUE(s.pace.sleep(kHour)); });
    for (int n = 0; n < i; ++n) {
      std::this_thread::yield();
    }
    s.pace.note_wait();
    s.pace.note_wait();
    helper.join();
  }
  s.look();
  const auto start = steady_clock::now();
  EXPECT_FALSE(s.pace.sleep(Duration::from_ms(2))) << "none of these wakes it again";
  EXPECT_GE(steady_clock::now() - start, milliseconds(2));
}

void pin_to_this_cpu(pthread_t thread) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
  ASSERT_EQ(pthread_setaffinity_np(thread, sizeof one, &one), 0);
}

TEST(HelperPace, ASleepIsShortAlsoBesideAThreadThatSpins) {
  std::atomic<bool> stop{false};
  std::thread spinner([&stop] {
    while (!stop) {
    }
  });
  std::thread sleeper([&spinner] {
    pin_to_this_cpu(pthread_self());
    pin_to_this_cpu(spinner.native_handle());
    HelperPace pace;
    std::array<steady_clock::duration, 31> slept{};
    for (auto& time : slept) {
      const auto start = steady_clock::now();
      pace.sleep(HelperPace::kShortest);
      time = steady_clock::now() - start;
    }
    std::nth_element(slept.begin(), slept.begin() + slept.size() / 2, slept.end());
    // Who yields before and after sleeping leaves the spinner its time slices: 12 ms were seen.
    EXPECT_LT(slept[slept.size() / 2], milliseconds(6));
  });
  sleeper.join();
  stop = true;
  spinner.join();
}

}  // namespace
}  // namespace roce::verbs
