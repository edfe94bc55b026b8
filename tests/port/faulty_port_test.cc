// Tests of FaultyPort: how often each fault strikes, what exactly it does, and that no buffer is
// lost.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/faulty_port.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "port/fault_rig.h"
#include "port/loopback_port.h"
#include "port/port_contract.h"
#include "port/test_frames.h"

namespace roce::test {
namespace {

/// Both ends wrapped, without faults.
struct FaultlessPair {
  LoopbackLink link;
  FaultyPort end_a{link.a(), FaultConfig{}};
  FaultyPort end_b{link.b(), FaultConfig{}};

  Port& a() { return end_a; }
  Port& b() { return end_b; }
  Instant now() { return Instant{}; }
};

/// A long wire: every frame takes the same time.
struct DelayedPair {
  static FaultConfig config() {
    FaultConfig c;
    c.delay = 1;
    c.delay_min = c.delay_max = Duration::from_us(5);
    return c;
  }

  LoopbackLink link;
  FaultyPort end_a{link.a(), config()};
  FaultyPort end_b{link.b(), config()};
  Instant time{};

  Port& a() { return end_a; }
  Port& b() { return end_b; }
  Instant now() { return time = time + Duration::from_us(1); }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Faultless, PortContract, FaultlessPair);
INSTANTIATE_TYPED_TEST_SUITE_P(Delayed, PortContract, DelayedPair);

TEST(FaultyPort, PassesEverythingInOrderWithoutFaults) {
  Rig rig(FaultConfig{});
  rig.run(1000);
  ASSERT_EQ(rig.received.size(), 1000U);
  for (uint64_t i = 0; i < 1000; i++) {
    EXPECT_EQ(rig.received[i].bytes, roce_bytes(i, 96));
  }
  EXPECT_TRUE(rig.no_buffer_lost());
}

TEST(FaultyPort, LosesTheConfiguredShare) {
  FaultConfig c;
  c.loss = 0.01;
  c.seed = 3;
  Rig rig(c);
  rig.run(kMany);
  EXPECT_TRUE(fits(rig.counters().lost, 0.01));
  EXPECT_EQ(rig.counters().seen, kMany);
  EXPECT_EQ(rig.received.size(), kMany - rig.counters().lost);
  const auto numbers = rig.numbers();
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  EXPECT_EQ(rig.port().stats().rx_missed, rig.counters().lost);
  EXPECT_EQ(rig.port().stats().rx_frames, rig.received.size());
  EXPECT_TRUE(rig.no_buffer_lost());
}

TEST(FaultyPort, LosesWholeRunsAtTheSameShare) {
  FaultConfig c;
  c.loss = 0.05;
  c.loss_burst = 10;
  Rig rig(c);
  rig.run(kMany);
  // Ten frames at a time scatter about sqrt(10) as wide: fewer, larger events.
  EXPECT_GT(rig.counters().lost, kMany * 4 / 100);
  EXPECT_LT(rig.counters().lost, kMany * 6 / 100);
  // A run may follow another at once; the last one may be cut off by the end.
  for (size_t i = 1; i < rig.received.size(); i++) {
    EXPECT_EQ((rig.received[i].number - rig.received[i - 1].number - 1) % 10, 0U);
  }
  EXPECT_TRUE(rig.no_buffer_lost());
}

TEST(FaultyPort, LosesEverythingAtShareOne) {
  FaultConfig c;
  c.loss = 1;
  c.loss_burst = 4;
  Rig rig(c);
  rig.run(100);
  EXPECT_TRUE(rig.received.empty());
  EXPECT_TRUE(rig.no_buffer_lost());
}

TEST(FaultyPort, DuplicatesTheConfiguredShareRightBehindTheOriginal) {
  FaultConfig c;
  c.duplicate = 0.02;
  Rig rig(c);
  rig.run(kMany);
  EXPECT_TRUE(fits(rig.counters().duplicated, 0.02));
  ASSERT_EQ(rig.received.size(), kMany + rig.counters().duplicated);
  const auto numbers = rig.numbers();
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  EXPECT_EQ(numbers.back(), kMany - 1);
  for (const Received& r : rig.received) {
    ASSERT_EQ(r.bytes, roce_bytes(r.number, 96));
  }
  EXPECT_TRUE(rig.no_buffer_lost());
}

TEST(FaultyPort, HandsUpTheOriginalWhenThereIsNoBufferForACopy) {
  FaultConfig c;
  c.duplicate = 1;
  LoopbackConfig link;
  link.buffers = 1;
  Rig rig(c, link);
  rig.send(roce_bytes(1));
  rig.poll();
  EXPECT_EQ(rig.received.size(), 1U);
  EXPECT_EQ(rig.counters().not_copied, 1U);
  EXPECT_EQ(rig.counters().duplicated, 0U);
  EXPECT_TRUE(rig.no_buffer_lost());
}

TEST(FaultyPort, FlipsOneToThreeBitsOrCutsTheConfiguredShare) {
  FaultConfig c;
  c.corrupt = 0.03;
  Rig rig(c);
  rig.run(kMany);
  EXPECT_TRUE(fits(rig.counters().corrupted, 0.03));
  ASSERT_EQ(rig.received.size(), kMany);
  std::map<int, uint64_t> flipped;
  uint64_t cut = 0;
  for (uint64_t i = 0; i < kMany; i++) {
    const auto want = roce_bytes(i, 96);
    const auto& got = rig.received[i].bytes;
    ASSERT_LE(got.size(), want.size());
    ASSERT_GE(got.size(), 1U);
    int bits = 0;
    for (size_t k = 0; k < got.size(); k++) {
      bits += std::popcount(static_cast<unsigned>(got[k] ^ want[k]));
    }
    const bool is_cut = got.size() < want.size();
    ASSERT_TRUE(!is_cut || bits == 0);
    cut += is_cut ? 1 : 0;
    flipped[bits] += is_cut ? 0 : 1;
  }
  EXPECT_EQ(flipped.rbegin()->first, 3);
  EXPECT_GT(cut, 200U);
  EXPECT_GT(flipped[1], 500U);
  EXPECT_GT(flipped[2], 500U);
  EXPECT_GT(flipped[3], 500U);
  EXPECT_EQ(cut + flipped[1] + flipped[2] + flipped[3], rig.counters().corrupted);
  EXPECT_TRUE(rig.no_buffer_lost());
}

TEST(FaultyPort, LetsOneToSixteenFramesPassAReorderedOne) {
  FaultConfig c;
  c.reorder = 0.01;
  Rig rig(c);
  rig.run(kMany);
  EXPECT_TRUE(fits(rig.counters().reordered, 0.01));
  ASSERT_EQ(rig.received.size(), kMany);
  uint64_t late = 0;
  uint64_t most = 0;
  uint64_t highest = 0;
  for (size_t i = 0; i < kMany; i++) {
    const uint64_t number = rig.received[i].number;
    if (number < highest) {
      late++;
      const auto passed =
          std::count_if(rig.received.begin(), rig.received.begin() + static_cast<std::ptrdiff_t>(i),
                        [number](const Received& r) { return r.number > number; });
      most = std::max(most, static_cast<uint64_t>(passed));
    }
    highest = std::max(highest, number);
  }
  EXPECT_EQ(most, FaultyPort::kMaxPassing);
  // All but the few that were passed only by others which had been held back themselves.
  EXPECT_GT(late, rig.counters().reordered * 95 / 100);
  EXPECT_TRUE(rig.no_buffer_lost());
}

TEST(FaultyPort, GivesUpWaitingForOthersToPassAfterAWhile) {
  FaultConfig c;
  c.reorder = 1;
  Rig rig(c);
  rig.now = Instant{1000};
  rig.send(roce_bytes(1));
  rig.poll();
  const Instant due = rig.now + FaultyPort::kReorderHold;
  EXPECT_EQ(rig.port().next_event(), due);
  rig.now = Instant{due.ns - 1};
  rig.poll();
  EXPECT_TRUE(rig.received.empty());
  rig.now = due;
  rig.poll();
  EXPECT_EQ(rig.received.size(), 1U);
  EXPECT_EQ(rig.port().next_event(), kNever);
}

TEST(FaultyPort, DelaysTheConfiguredShareWithinItsRange) {
  FaultConfig c;
  c.delay = 0.2;
  c.delay_min = Duration::from_us(2);
  c.delay_max = Duration::from_us(9);
  Rig rig(c);
  rig.run(kMany);
  EXPECT_TRUE(fits(rig.counters().delayed, 0.2));
  ASSERT_EQ(rig.received.size(), kMany);
  std::map<int64_t, uint64_t> by_us;
  for (const Received& r : rig.received) {
    by_us[(r.at - Instant{r.number / 32 * 1000}).ns / 1000]++;
  }
  // Polled once a microsecond, hence rounded up.
  EXPECT_EQ(by_us[0], kMany - rig.counters().delayed);
  EXPECT_EQ(by_us.rbegin()->first, 9);
  for (int64_t us = 3; us <= 9; us++) {
    EXPECT_NEAR(static_cast<double>(by_us[us]), 0.2 * kMany / 7, 400) << us << " us";
  }
  EXPECT_EQ(by_us[1], 0U);
  EXPECT_EQ(rig.counters().released_early, 0U);
  EXPECT_TRUE(rig.no_buffer_lost());
}

TEST(FaultyPort, KeepsTheOrderUnderAnEqualDelayAndNamesItsEnd) {
  FaultConfig c;
  c.delay = 1;
  c.delay_min = c.delay_max = Duration::from_us(20);
  Rig rig(c);
  rig.now = Instant{500};
  for (uint64_t i = 0; i < 10; i++) {
    rig.send(roce_bytes(i));
  }
  rig.poll();
  EXPECT_TRUE(rig.received.empty());
  EXPECT_EQ(rig.port().next_event(), Instant{20500});
  rig.now = Instant{20499};
  rig.poll();
  EXPECT_TRUE(rig.received.empty());
  rig.now = Instant{20500};
  rig.poll();
  EXPECT_EQ(rig.numbers(), (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(rig.port().next_event(), kNever);
}

TEST(FaultyPort, HoldsABoundedNumberAndPassesTheEarliestOn) {
  FaultConfig c;
  c.delay = 1;
  c.delay_min = c.delay_max = Duration::from_s(1);
  Rig rig(c);
  constexpr size_t kSurplus = 300;
  for (uint64_t i = 0; i < FaultyPort::kMaxDelayed + kSurplus; i++) {
    rig.send(roce_bytes(i));
    rig.poll();
  }
  EXPECT_EQ(rig.counters().released_early, kSurplus);
  ASSERT_EQ(rig.received.size(), kSurplus);
  for (size_t i = 0; i < kSurplus; i++) {
    EXPECT_EQ(rig.received[i].number, i);
  }
  EXPECT_TRUE(rig.no_buffer_lost());
}

TEST(FaultyPort, HoldsABoundedNumberWaitingForOthers) {
  FaultConfig c;
  c.reorder = 1;
  Rig rig(c);
  for (uint64_t i = 0; i < 10'000; i++) {
    rig.send(roce_bytes(i));
    rig.poll();
    EXPECT_LE(i + 1 - rig.received.size(), FaultyPort::kMaxReordered);
  }
  EXPECT_GT(rig.counters().released_early, 0U);
  EXPECT_TRUE(rig.no_buffer_lost());
}

TEST(FaultyPort, DoesTheSameForTheSameSeedOnly) {
  std::array<Rig, 3> rigs{Rig(all_faults(5)), Rig(all_faults(5)), Rig(all_faults(6))};
  for (Rig& rig : rigs) {
    rig.run(20'000);
    EXPECT_GT(rig.counters().corrupted, 100U);
  }
  EXPECT_TRUE(rigs[0].received == rigs[1].received);
  EXPECT_FALSE(rigs[0].received == rigs[2].received);
}

TEST(FaultyPort, LosesNoBufferUnderAllFaultsAndAccountsForEveryFrame) {
  Rig rig(all_faults(9));
  rig.run(kMany);
  const FaultCounters& c = rig.counters();
  EXPECT_EQ(c.seen, kMany);
  EXPECT_EQ(rig.received.size(), c.seen - c.lost + c.duplicated);
  EXPECT_EQ(rig.port().stats().rx_frames, rig.received.size());
  EXPECT_EQ(c.not_copied, 0U);
  EXPECT_TRUE(rig.no_buffer_lost());
}

TEST(FaultyPort, GivesHeldFramesBackWhenDestroyed) {
  FaultConfig c = all_faults(2);
  c.duplicate = 1;
  c.delay = 0.5;
  c.reorder = 0.5;
  Rig rig(c);
  for (uint64_t i = 0; i < 200; i++) {
    rig.send(roce_bytes(i));
  }
  // Room for one frame only: the others stay delayed, waiting or ready.
  Frame f;
  ASSERT_EQ(rig.port().rx_burst(rig.now, {&f, 1}), 1U);
  rig.port().release({&f, 1});
  rig.poll();
  EXPECT_LT(rig.link().free_buffers(), 4096U);
  EXPECT_TRUE(rig.no_buffer_lost());
}

TEST(FaultyPort, HandsUpAllThroughSmallBursts) {
  FaultConfig c;
  c.duplicate = 1;
  Rig rig(c);
  for (uint64_t i = 0; i < 100; i++) {
    rig.send(roce_bytes(i));
  }
  Frame f;
  for (uint64_t i = 0; i < 200; i++) {
    EXPECT_LE(rig.port().next_event(), rig.now);
    ASSERT_EQ(rig.port().rx_burst(rig.now, {&f, 1}), 1U);
    EXPECT_EQ(number_of(f), i / 2);
    rig.port().release({&f, 1});
  }
  EXPECT_EQ(rig.port().next_event(), kNever);
  EXPECT_TRUE(rig.no_buffer_lost());
}

/// Notes its own end.
class MortalPort final : public WrappingPort {
 public:
  MortalPort(Port& below, bool& dead) : WrappingPort(below), dead_(dead) {}
  ~MortalPort() override { dead_ = true; }

 private:
  bool& dead_;
};

TEST(FaultyPort, OwnsAPortHandedOverToIt) {
  LoopbackLink link;
  bool dead = false;
  {
    const FaultyPort port(std::make_unique<MortalPort>(link.a(), dead), FaultConfig{});
    EXPECT_EQ(port.info().name, link.a().info().name);
    EXPECT_FALSE(dead);
  }
  EXPECT_TRUE(dead);
}

TEST(FaultyPortDeathTest, StopsOnSharesOutOfRange) {
  LoopbackLink link;
  FaultConfig c;
  c.loss = 1.5;
  EXPECT_DEATH(FaultyPort(link.a(), c), "internal error");
}

}  // namespace
}  // namespace roce::test
