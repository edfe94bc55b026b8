// SpscRing: exact capacity, batches, wrap of the indexes, and two threads (run under TSan as well).
// SPDX-License-Identifier: BSD-3-Clause
#include "ring/spsc_ring.h"

#include <array>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace roce {
namespace {

struct NotTrivial {
  NotTrivial() = default;
  NotTrivial(const NotTrivial&) {}
};
static_assert(RingElement<uint64_t>);
static_assert(!RingElement<NotTrivial>);
static_assert(alignof(SpscRing<uint8_t>) == kSharingUnit);

// Starts that make the indexes wrap at the first, the second ... element.
constexpr std::array<uint32_t, 5> kStarts = {0, UINT32_MAX, UINT32_MAX - 1, UINT32_MAX - 6,
                                             0x7fffffff};

TEST(SpscRing, HoldsExactlyItsCapacity) {
  for (const uint32_t start : kStarts) {
    for (size_t capacity = 1; capacity <= 9; ++capacity) {
      SpscRing<uint32_t> ring(capacity, start);
      EXPECT_EQ(ring.capacity(), capacity);
      EXPECT_EQ(ring.free_slots(), capacity);
      for (uint32_t i = 0; i < capacity; ++i) {
        EXPECT_TRUE(ring.push(i)) << "capacity " << capacity << " element " << i;
      }
      EXPECT_EQ(ring.free_slots(), 0U);
      EXPECT_FALSE(ring.push(99)) << "capacity " << capacity;
      ring.publish();
      ASSERT_EQ(ring.available(), capacity);
      for (uint32_t i = 0; i < capacity; ++i) {
        EXPECT_EQ(ring.front(i), i);
      }
    }
  }
}

TEST(SpscRing, ShowsNothingBeforePublish) {
  SpscRing<int> ring(4);
  EXPECT_TRUE(ring.push(7));
  EXPECT_EQ(ring.available(), 0U);
  EXPECT_EQ(ring.unpublished(), 1U);
  ring.publish();
  EXPECT_EQ(ring.unpublished(), 0U);
  ASSERT_EQ(ring.available(), 1U);
  EXPECT_EQ(ring.front(), 7);
}

TEST(SpscRing, SlotsAreFilledInPlaceAndStaged) {
  SpscRing<int> ring(5, UINT32_MAX - 1);
  ASSERT_EQ(ring.free_slots(5), 5U);
  for (int i = 0; i < 3; ++i) {
    ring.slot(static_cast<size_t>(i)) = 10 + i;
  }
  ring.stage(3);
  ring.slot(0) = 13;
  ring.stage(1);
  EXPECT_EQ(ring.free_slots(), 1U);
  ring.publish();
  ASSERT_EQ(ring.available(), 4U);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(ring.front(static_cast<size_t>(i)), 10 + i);
  }
}

TEST(SpscRing, UnstageTakesBackOnlyWhatWasNotPublished) {
  SpscRing<int> ring(4);
  EXPECT_TRUE(ring.push(1));
  ring.publish();
  EXPECT_TRUE(ring.push(2));
  EXPECT_TRUE(ring.push(3));
  ring.unstage();
  EXPECT_EQ(ring.free_slots(), 3U);
  EXPECT_TRUE(ring.push(4));
  ring.publish();
  ASSERT_EQ(ring.available(), 2U);
  EXPECT_EQ(ring.front(0), 1);
  EXPECT_EQ(ring.front(1), 4);
}

TEST(SpscRing, PushTakesWhatFitsFromTheFront) {
  SpscRing<int> ring(3);
  const std::array<int, 5> values = {1, 2, 3, 4, 5};
  EXPECT_EQ(ring.push(std::span<const int>(values)), 3U);
  EXPECT_EQ(ring.push(std::span<const int>(values)), 0U);
  EXPECT_EQ(ring.push(std::span<const int>()), 0U);
  ring.publish();
  ASSERT_EQ(ring.available(), 3U);
  EXPECT_EQ(ring.front(2), 3);
}

TEST(SpscRing, PoppedSlotsBecomeFreeAndOthersStay) {
  SpscRing<int> ring(3);
  const std::array<int, 3> values = {1, 2, 3};
  ring.push(std::span<const int>(values));
  ring.publish();
  ASSERT_EQ(ring.available(), 3U);
  ring.pop(2);
  EXPECT_EQ(ring.available(), 1U);
  EXPECT_EQ(ring.front(), 3);
  ring.front() = 30;
  EXPECT_EQ(ring.front(), 30);
  EXPECT_EQ(ring.free_slots(), 2U);
  ring.pop();
  EXPECT_EQ(ring.available(), 0U);
  EXPECT_EQ(ring.free_slots(3), 3U);
}

TEST(SpscRing, RereadsTheOtherSideOnlyWhenLessThanWanted) {
  SpscRing<int> ring(4);
  EXPECT_TRUE(ring.push(1));
  ring.publish();
  ASSERT_EQ(ring.available(), 1U);
  EXPECT_TRUE(ring.push(2));
  ring.publish();
  EXPECT_EQ(ring.available(1), 1U);
  EXPECT_EQ(ring.available(2), 2U);
  ring.pop(2);
  EXPECT_EQ(ring.free_slots(2), 2U);
  EXPECT_EQ(ring.free_slots(3), 4U);
}

TEST(SpscRing, OrderSurvivesTheWrapOfTheIndexes) {
  for (const uint32_t start : kStarts) {
    SpscRing<uint64_t> ring(3, start);
    uint64_t in = 0;
    uint64_t out = 0;
    for (int round = 0; round < 20; ++round) {
      while (ring.push(in)) {
        ++in;
      }
      ring.publish();
      const size_t n = 1 + static_cast<size_t>(round) % 3;
      ASSERT_GE(ring.available(n), n);
      for (size_t i = 0; i < n; ++i) {
        EXPECT_EQ(ring.front(i), out + i);
      }
      ring.pop(n);
      out += n;
    }
  }
}

TEST(SpscRingDeathTest, RefusesCapacityZeroAndTooLarge) {
  EXPECT_DEATH(SpscRing<uint8_t>(0), "capacity >= 1");
  EXPECT_DEATH(SpscRing<uint8_t>(SpscRing<uint8_t>::kMaxCapacity + 1), "kMaxCapacity");
}

/// Two words that belong together: a torn or early read shows.
struct Pair {
  uint64_t value;
  uint64_t inverse;
};

/// Sends `total` numbered pairs in batches of 1..7 through a ring of `capacity` and counts those
/// that arrive changed or out of order.
uint64_t count_errors_of_two_threads(size_t capacity, uint64_t total, uint32_t start) {
  SpscRing<Pair> ring(capacity, start);
  std::thread producer([&] {
    uint64_t next = 0;
    while (next < total) {
      const uint64_t batch = std::min(1 + next % 7, total - next);
      const size_t n = std::min<size_t>(batch, ring.free_slots(batch));
      if (n == 0) {
        std::this_thread::yield();
        continue;
      }
      for (size_t i = 0; i < n; ++i) {
        ring.slot(i) = Pair{next + i, ~(next + i)};
      }
      ring.stage(n);
      ring.publish();
      next += n;
    }
  });
  uint64_t errors = 0;
  uint64_t expected = 0;
  while (expected < total) {
    const size_t n = ring.available();
    if (n == 0) {
      std::this_thread::yield();
      continue;
    }
    errors += n > capacity ? 1 : 0;
    for (size_t i = 0; i < n; ++i) {
      const Pair p = ring.front(i);
      errors += p.value == expected + i && p.inverse == ~p.value ? 0 : 1;
      ring.front(i) = Pair{0, 0};
    }
    ring.pop(n);
    expected += n;
  }
  producer.join();
  return errors;
}

TEST(SpscRing, TwoThreadsSeeEveryElementOnceInOrder) {
  EXPECT_EQ(count_errors_of_two_threads(1, 5'000, 0), 0U);
  EXPECT_EQ(count_errors_of_two_threads(5, 50'000, UINT32_MAX - 1000), 0U);
  EXPECT_EQ(count_errors_of_two_threads(1024, 200'000, UINT32_MAX - 100'000), 0U);
}

}  // namespace
}  // namespace roce
