// ECN: marked packets are answered by CNPs, and CNPs slow a QP down where DCQCN is on
// (spec/protocol-and-verbs.md 5.5).
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <roce/counters.h>

#include "sim/rc_rig.h"

namespace roce::sim {
namespace {

/// Everything that side a sends arrives marked: its address vector says so itself.
RigOptions marked(double line_rate = 0) {
  RigOptions options;
  options.rc.traffic_class = 3;  // "congestion experienced"
  options.sim.dcqcn_line_rate = line_rate;
  options.sim.window_packets = 1024;
  return options;
}

TEST(Congestion, MarkedPacketsAreAnsweredByFewNotifications) {
  RcRig rig(marked());
  ASSERT_EQ(rig.a.rdma(1, IBV_WR_RDMA_WRITE, 0, 500'000, rig.b, 0), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  const uint64_t sent = rig.b.qp.counters().cnps_sent;
  EXPECT_GE(sent, 1u);
  EXPECT_LT(sent, 100u) << "one per 50 us at most, not one per packet";
  EXPECT_EQ(rig.a.qp.counters().cnps_rcvd, sent);
  EXPECT_EQ(rig.pair.device(0).counters().rcvd_cnp, sent);
  EXPECT_GE(rig.pair.device(1).counters().rcvd_ce, 488u);
}

TEST(Congestion, WithDcqcnTheSenderSlowsDownAndStillFinishes) {
  const auto takes = [](double line_rate) {
    RcRig rig(marked(line_rate));
    const Instant start = rig.pair.clock().now();
    EXPECT_EQ(rig.a.rdma(1, IBV_WR_RDMA_WRITE, 0, 500'000, rig.b, 0), 0);
    EXPECT_TRUE(rig.collect(1, 0));
    EXPECT_EQ(rig.a.memory[499'999], rig.b.memory[499'999]);
    return rig.pair.clock().now() - start;
  };
  const Duration free = takes(0);
  const Duration slowed = takes(1e9);
  EXPECT_GT(slowed, free * 2);
}

TEST(Congestion, ReadResponsesArePacedAsWell) {
  RcRig rig(marked(1e9));
  ASSERT_EQ(rig.a.rdma(1, IBV_WR_RDMA_READ, 0, 500'000, rig.b, 0), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  EXPECT_GE(rig.b.qp.counters().cnps_rcvd, 1u);
}

TEST(Congestion, AnAckDoesNotOvertakePacedReadResponses) {
  RcRig rig(marked(1e9));
  ASSERT_EQ(rig.a.rdma(1, IBV_WR_RDMA_READ, 0, 500'000, rig.b, 0), 0);
  for (uint64_t id = 2; id < 20; ++id) {
    ASSERT_EQ(rig.a.rdma(id, IBV_WR_RDMA_WRITE, 0, 8, rig.b, 600'000), 0);
  }
  ASSERT_TRUE(rig.collect(19, 0));
  EXPECT_GE(rig.b.qp.counters().cnps_rcvd, 1u);
  EXPECT_EQ(rig.a.qp.counters().implied_naks, 0u);
  EXPECT_EQ(rig.a.qp.counters().retransmitted, 0u);
}

}  // namespace
}  // namespace roce::sim
