// TimerWheel against a plain sorted map, and the rules of its contract one by one.
// SPDX-License-Identifier: BSD-3-Clause
#include "engine/timer_wheel.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace roce {
namespace {

constexpr size_t kAll = SIZE_MAX;

Instant at(uint64_t ns) {
  return Instant{ns};
}
Duration hours(int64_t n) {
  return Duration::from_s(n * 3600);
}

std::vector<uint32_t> expired(TimerWheel& wheel, Instant now, size_t limit = kAll) {
  std::vector<uint32_t> ids;
  wheel.advance(
      now, [&](uint32_t id) { ids.push_back(id); }, limit);
  return ids;
}

using Ids = std::vector<uint32_t>;

TEST(TimerWheel, ExpiresAtTheDeadlineAndNotANanosecondBefore) {
  for (const uint64_t deadline : {1ULL, 1023ULL, 1024ULL, 5'000ULL, 65'535ULL, 65'536ULL, 70'000ULL,
                                  4'194'304ULL, 9'999'999ULL, 12'345'678'901ULL}) {
    TimerWheel wheel(1, at(0));
    wheel.arm(0, at(deadline));
    EXPECT_TRUE(wheel.armed(0));
    EXPECT_EQ(wheel.deadline(0), at(deadline));
    EXPECT_EQ(expired(wheel, at(deadline - 1)), Ids{}) << deadline;
    EXPECT_EQ(expired(wheel, at(deadline)), Ids{0}) << deadline;
    EXPECT_FALSE(wheel.armed(0));
    EXPECT_EQ(wheel.deadline(0), kNever);
  }
}

TEST(TimerWheel, ArmingAgainMovesTheTimer) {
  TimerWheel wheel(2, at(0));
  wheel.arm(0, at(5'000));
  wheel.arm(0, at(900'000));
  EXPECT_EQ(wheel.armed_count(), 1U);
  EXPECT_EQ(expired(wheel, at(800'000)), Ids{});
  wheel.arm(0, at(810'000));
  EXPECT_EQ(expired(wheel, at(810'000)), Ids{0});
  EXPECT_EQ(expired(wheel, at(5'000'000)), Ids{});
}

TEST(TimerWheel, DisarmedTimersDoNotExpire) {
  TimerWheel wheel(3, at(0));
  for (uint32_t id = 0; id < 3; ++id) {
    wheel.arm(id, at(10'000));
  }
  wheel.disarm(1);
  wheel.disarm(1);
  EXPECT_EQ(wheel.armed_count(), 2U);
  EXPECT_EQ(expired(wheel, at(20'000)), (Ids{0, 2}));
}

TEST(TimerWheel, NeverDisarms) {
  TimerWheel wheel(1, at(0));
  wheel.arm(0, at(10));
  wheel.arm(0, kNever);
  EXPECT_FALSE(wheel.armed(0));
  EXPECT_EQ(wheel.next_expiry(), kNever);
  wheel.arm(0, kNever);
  EXPECT_EQ(expired(wheel, at(100)), Ids{});
}

TEST(TimerWheel, PassedDeadlineExpiresAtTheNextAdvance) {
  TimerWheel wheel(2, at(1'000'000));
  wheel.arm(0, at(5));
  wheel.arm(1, at(1'000'000));
  EXPECT_LE(wheel.next_expiry(), at(5));
  EXPECT_EQ(expired(wheel, at(1'000'000)), (Ids{0, 1}));
}

TEST(TimerWheel, LimitLeavesTheRestForTheNextCalls) {
  TimerWheel wheel(10, at(0));
  for (uint32_t id = 0; id < 10; ++id) {
    wheel.arm(id, at(1'000 + id * 3'000));
  }
  EXPECT_EQ(expired(wheel, at(100'000), 0), Ids{});
  EXPECT_EQ(expired(wheel, at(100'000), 4), (Ids{0, 1, 2, 3}));
  EXPECT_LE(wheel.next_expiry(), at(1'000 + 4 * 3'000));
  wheel.disarm(5);
  wheel.arm(6, at(200'000));
  EXPECT_EQ(expired(wheel, at(100'000), 3), (Ids{4, 7, 8}));
  EXPECT_EQ(expired(wheel, at(100'000), 3), Ids{9});
  EXPECT_GT(wheel.next_expiry(), at(100'000));
  EXPECT_EQ(expired(wheel, at(200'000), 3), Ids{6});
}

TEST(TimerWheel, CallbackMayArmItselfForNowWithoutLoopingForEver) {
  TimerWheel wheel(1, at(0));
  wheel.arm(0, at(10));
  for (int i = 0; i < 3; ++i) {
    const size_t n = wheel.advance(
        at(5'000), [&](uint32_t id) { wheel.arm(id, at(20)); }, kAll);
    EXPECT_EQ(n, 1U);
    EXPECT_TRUE(wheel.armed(0));
    EXPECT_LE(wheel.next_expiry(), at(20));
  }
}

TEST(TimerWheel, CallbackMayArmAndDisarmOthers) {
  TimerWheel wheel(6, at(0));
  for (uint32_t id = 0; id < 4; ++id) {
    wheel.arm(id, at(10'000));
  }
  Ids ids;
  wheel.advance(
      at(20'000),
      [&](uint32_t id) {
        ids.push_back(id);
        wheel.disarm(1);           // due, not called yet
        wheel.arm(2, at(30'000));  // due, not called yet: moved away
        wheel.arm(4, at(25'000));
        wheel.arm(id, at(40'000));
      },
      kAll);
  EXPECT_EQ(ids, (Ids{0, 3}));
  EXPECT_EQ(expired(wheel, at(25'000)), Ids{4});
  EXPECT_EQ(expired(wheel, at(30'000)), Ids{2});
  Ids rest = expired(wheel, at(40'000));
  std::sort(rest.begin(), rest.end());
  EXPECT_EQ(rest, (Ids{0, 3}));
}

TEST(TimerWheel, FarDeadlinesAreReached) {
  // Beyond 19.5 hours a timer waits in the last slot of the top level, more than once if need be.
  for (const int64_t h : {3, 19, 20, 72, 1000}) {
    for (const uint64_t origin : {0ULL, 0x3fff'ffffULL << 10, 123'456'789'012'345ULL}) {
      TimerWheel wheel(1, at(origin));
      const Instant deadline = at(origin) + hours(h) + Duration::from_ns(777);
      wheel.arm(0, deadline);
      EXPECT_EQ(expired(wheel, at(origin) + hours(h)), Ids{}) << h << " hours";
      EXPECT_EQ(expired(wheel, deadline + Duration::from_ns(-1)), Ids{}) << h << " hours";
      EXPECT_EQ(expired(wheel, deadline), Ids{0}) << h << " hours";
    }
  }
}

TEST(TimerWheel, WorksUpToTheEndOfTime) {
  const Instant origin = at(UINT64_MAX - static_cast<uint64_t>(hours(30).ns));
  TimerWheel wheel(4, origin);
  wheel.arm(0, at(UINT64_MAX - 1));
  wheel.arm(1, origin + hours(25));
  wheel.arm(2, origin + Duration::from_ns(1));
  EXPECT_EQ(expired(wheel, origin + hours(1)), Ids{2});
  EXPECT_EQ(expired(wheel, origin + hours(25)), Ids{1});
  EXPECT_EQ(expired(wheel, at(UINT64_MAX - 2)), Ids{});
  EXPECT_EQ(wheel.next_expiry(), at(UINT64_MAX - 1));
  EXPECT_EQ(expired(wheel, at(UINT64_MAX - 1)), Ids{0});
  EXPECT_EQ(wheel.next_expiry(), kNever);
}

TEST(TimerWheel, NextExpiryReachesTheDeadlineInFewSteps) {
  for (const uint64_t distance : {1ULL, 1'500ULL, 70'000ULL, 5'000'000ULL, 300'000'000ULL,
                                  20'000'000'000ULL, 7'200'000'000'000ULL, 60'000'000'000'000ULL}) {
    TimerWheel wheel(2, at(999));
    const Instant deadline = at(999 + distance);
    wheel.arm(0, deadline);
    wheel.arm(1, at(1'000));  // makes the wheel find the next one by itself
    expired(wheel, at(1'000));
    unsigned steps = 0;
    for (Instant now = at(1'000); wheel.armed(0); ++steps) {
      const Instant next = wheel.next_expiry();
      ASSERT_GT(next, now);
      ASSERT_LE(next, deadline);
      now = next;
      expired(wheel, now);
      ASSERT_LE(steps, TimerWheel::kLevels + 1);
    }
  }
}

TEST(TimerWheel, NextExpiryIsLaterThanNowWhenNothingIsDueAnyMore) {
  TimerWheel wheel(3, at(0));
  wheel.arm(0, at(50'000'000));
  EXPECT_EQ(expired(wheel, at(40'000'000)), Ids{});
  wheel.arm(1, at(7));
  EXPECT_LE(wheel.next_expiry(), at(7));
  wheel.disarm(1);
  EXPECT_GT(wheel.next_expiry(), at(40'000'000));
  EXPECT_LE(wheel.next_expiry(), at(50'000'000));
  wheel.disarm(0);
  EXPECT_EQ(wheel.next_expiry(), kNever);
}

TEST(TimerWheel, HandlesNoTimersAtAll) {
  TimerWheel wheel(0, at(0));
  EXPECT_EQ(expired(wheel, at(0) + hours(100)), Ids{});
  EXPECT_EQ(wheel.next_expiry(), kNever);
}

/// The same timers in a sorted map: obviously right.
class Model {
 public:
  explicit Model(uint32_t capacity) : deadlines_(capacity, kNever) {}

  void arm(uint32_t id, Instant deadline) {
    disarm(id);
    if (deadline != kNever) {
      deadlines_[id] = deadline;
      by_time_.emplace(deadline, id);
    }
  }
  void disarm(uint32_t id) {
    const auto [first, last] = by_time_.equal_range(deadlines_[id]);
    const auto it = std::find_if(first, last, [&](const auto& e) { return e.second == id; });
    if (it != last) {
      by_time_.erase(it);
    }
    deadlines_[id] = kNever;
  }
  std::set<uint32_t> due(Instant now) const {
    std::set<uint32_t> ids;
    for (const auto& [deadline, id] : by_time_) {
      if (deadline > now) {
        break;
      }
      ids.insert(id);
    }
    return ids;
  }
  Instant earliest() const { return by_time_.empty() ? kNever : by_time_.begin()->first; }
  Instant deadline(uint32_t id) const { return deadlines_[id]; }
  size_t size() const { return by_time_.size(); }

 private:
  std::vector<Instant> deadlines_;
  std::multimap<Instant, uint32_t> by_time_;
};

class WheelAgainstModel {
 public:
  explicit WheelAgainstModel(uint64_t seed)
      : random_(seed),
        now_(at(random_() >> (2 + random_() % 40))),
        wheel_(kIds, now_),
        model_(kIds) {}

  void step() {
    const auto id = static_cast<uint32_t>(random_() % kIds);
    switch (random_() % 8) {
      case 0:
        wheel_.disarm(id);
        model_.disarm(id);
        break;
      case 1:
      case 2:
        advance(at(now_.ns + span()));
        break;
      case 3:
        advance(std::max(now_, std::min(wheel_.next_expiry(), at(now_.ns + span()))));
        break;
      default:
        arm(id, random_deadline());
    }
    check(id);
  }

 private:
  static constexpr uint32_t kIds = 64;

  /// 0 .. 70 hours, every magnitude equally likely.
  uint64_t span() { return random_() >> (16 + random_() % 48); }

  Instant random_deadline() {
    if (random_() % 16 == 0) {
      return at(now_.ns - std::min(now_.ns, span()));
    }
    return at(now_.ns + span());
  }

  void arm(uint32_t id, Instant deadline) {
    wheel_.arm(id, deadline);
    model_.arm(id, deadline);
  }

  void advance(Instant now) {
    now_ = now;
    std::set<uint32_t> due = model_.due(now);
    const size_t before = due.size();
    const size_t limit = random_() % 4 == 0 ? random_() % 5 : kAll;
    const size_t called = wheel_.advance(
        now,
        [&](uint32_t id) {
          EXPECT_FALSE(wheel_.armed(id));
          EXPECT_EQ(due.erase(id), 1U) << "timer " << id << " was not due or called twice";
          model_.disarm(id);
          const auto other = static_cast<uint32_t>(random_() % kIds);
          switch (random_() % 4) {
            case 0:
              due.erase(id);
              arm(id, random_deadline());
              break;
            case 1:
              due.erase(other);
              arm(other, random_deadline());
              break;
            case 2:
              due.erase(other);
              wheel_.disarm(other);
              model_.disarm(other);
              break;
            default:
              break;
          }
        },
        limit);
    EXPECT_LE(called, std::min(limit, before));
    if (called < limit) {
      EXPECT_TRUE(due.empty()) << due.size() << " due timers were not called";
    }
  }

  void check(uint32_t id) const {
    ASSERT_EQ(wheel_.deadline(id), model_.deadline(id));
    ASSERT_EQ(wheel_.armed_count(), model_.size());
    const Instant next = wheel_.next_expiry();
    ASSERT_LE(next, model_.earliest());
    if (model_.earliest() > now_) {
      ASSERT_GT(next, now_);
    }
    ASSERT_EQ(next == kNever, model_.size() == 0);
  }

  std::mt19937_64 random_;
  Instant now_;
  TimerWheel wheel_;
  Model model_;
};

TEST(TimerWheel, BehavesLikeASortedMap) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    WheelAgainstModel pair(seed);
    for (int i = 0; i < 3'000; ++i) {
      pair.step();
      if (testing::Test::HasFailure()) {
        return;
      }
    }
  }
}

}  // namespace
}  // namespace roce
