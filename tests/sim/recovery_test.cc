// What a loss costs: how many packets are sent again, and how long it takes, with a peer that keeps
// what comes too early and with one that does not.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "sim/rc_rig.h"

namespace roce::sim {
namespace {

constexpr uint32_t kPacket = 1024;

struct Outcome {
  uint64_t lost = 0;  // both ways
  uint64_t delayed = 0;
  uint64_t retransmitted = 0;
  uint64_t timeouts = 0;
  uint64_t early = 0;
  uint64_t naks = 0;
};

RigOptions options_for(FaultConfig faults, size_t sender_keeps, size_t receiver_keeps) {
  RigOptions options;
  options.sim.faults = faults;
  options.sim.seed = faults.seed;
  options.sim.held_packets[0] = sender_keeps;
  options.sim.held_packets[1] = receiver_keeps;
  options.rc.timeout = 14;
  return options;
}

/// WRITEs of `packets` packets from side 0 to side 1, 32 under way.
Outcome write_many(const RigOptions& options, uint32_t count, uint32_t packets = 1) {
  RcRig rig(options);
  uint32_t posted = 0;
  const bool finished = rig.pair.run_until(
      [&] {
        for (; posted < count && posted - rig.a.done.size() < 32; ++posted) {
          rig.a.rdma(posted, IBV_WR_RDMA_WRITE, 0, size_t{packets} * kPacket, rig.b, 0);
        }
        rig.drain();
        return rig.a.done.size() == count;
      },
      Duration::from_s(20));
  EXPECT_TRUE(finished) << rig.a.done.size() << " of " << count;
  Outcome o;
  o.lost = rig.pair.faults(0).lost + rig.pair.faults(1).lost;
  o.delayed = rig.pair.faults(0).delayed + rig.pair.faults(1).delayed;
  const QpCounters counters = rig.pair.device(0).qp_counters();
  o.retransmitted = counters.retransmitted;
  o.timeouts = counters.timeouts;
  o.early = counters.early_retransmits;
  o.naks = counters.sequence_naks_rcvd;
  return o;
}

TEST(Recovery, OnlyWhatIsMissingIsSentAgain) {
  for (const double loss : {0.001, 0.01, 0.05}) {
    const Outcome o = write_many(options_for({.loss = loss, .seed = 7}, 512, 512), 20'000);
    EXPECT_GT(o.lost, 0U);
    EXPECT_LE(o.retransmitted, o.lost + o.lost / 2 + 10) << "at a loss of " << loss;
    EXPECT_EQ(o.timeouts, 0U) << "at a loss of " << loss;
  }
}

TEST(Recovery, PeerThatKeepsNothingGetsWhatItNeeds) {
  const Outcome keeps = write_many(options_for({.loss = 0.01, .seed = 7}, 512, 512), 5'000);
  const Outcome drops = write_many(options_for({.loss = 0.01, .seed = 7}, 512, 0), 5'000);
  EXPECT_GT(drops.retransmitted, keeps.retransmitted * 4);
  EXPECT_EQ(drops.timeouts, 0U);
}

TEST(Recovery, PeerThatKeepsNothingIsNotTakenForOneThatDoes) {
  for (const uint64_t seed : {1U, 2U, 3U}) {
    for (const double loss : {0.001, 0.01}) {
      // More than a window is posted. Late packets make the sender suspect losses where there are
      // none. One packet a NAK is how a peer that keeps is served.
      const FaultConfig faults{.loss = loss,
                               .delay = 0.001,
                               .delay_min = Duration::from_us(300),
                               .delay_max = Duration::from_us(600),
                               .seed = seed};
      const Outcome o = write_many(options_for(faults, 512, 0), 1'000, 16);
      EXPECT_GT(o.lost, 0U);
      EXPECT_LE(o.naks, 2 * (o.lost + o.delayed) + 10)
          << "at a loss of " << loss << ", seed " << seed;
      EXPECT_EQ(o.timeouts, 0U) << "at a loss of " << loss << ", seed " << seed;
    }
  }
}

TEST(Recovery, PeerThatKeepsNothingHasLittleSentTwice) {
  // A loss costs what is under way behind it, so less has to be under way when losses are many.
  const uint64_t packets = 16'000;
  EXPECT_LE(
      write_many(options_for({.loss = 0.001, .seed = 7}, 512, 0), packets / 16, 16).retransmitted,
      packets / 10);
  EXPECT_LE(
      write_many(options_for({.loss = 0.01, .seed = 7}, 512, 0), packets / 16, 16).retransmitted,
      packets / 3);
}

TEST(Recovery, ReorderingAloneMakesNobodySendAgain) {
  for (const uint64_t seed : {1U, 2U, 3U}) {
    // More than a window is posted: packets go on coming while one is late.
    const Outcome o = write_many(options_for({.reorder = 0.1, .seed = seed}, 512, 512), 1'000, 16);
    EXPECT_EQ(o.naks, 0U) << "seed " << seed;
    // When the last packets are late, with nothing behind them, that looks like a loss.
    EXPECT_LE(o.early, 4U) << "seed " << seed;
    EXPECT_EQ(o.retransmitted, o.early) << "seed " << seed;
  }
}

}  // namespace
}  // namespace roce::sim
