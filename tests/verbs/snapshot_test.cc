// Snapshots of several engines.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <roce/snapshot.h>

namespace roce::verbs {
namespace {

TEST(Snapshots, OfSeveralEnginesAreShownAsOne) {
  Snapshot a;
  a.time_ns = 5;
  a.cpu = 1;
  a.link_up = true;
  a.turns = 10;
  a.busy_ns = 3;
  a.engine.drop(DropReason::icrc);
  a.engine.sent_packets = 7;
  a.all_qps.retransmitted = 2;
  a.port.rx_handed_over = 4;
  a.qps.push_back({.qpn = 17, .type = "RC", .state = "RTS", .counters = {}});
  a.cqs.push_back({.handle = 1, .capacity = 64});
  Snapshot b = a;
  b.time_ns = 6;
  b.link_up = false;
  b.engine.drop(DropReason::pkey);
  b.qps[0].qpn = 18;
  b.mrs.push_back({.key = 9, .kind = "MR"});
  const Snapshot sum = together({a, b});
  EXPECT_EQ(sum.time_ns, 5u);
  EXPECT_EQ(sum.cpu, 1);
  EXPECT_FALSE(sum.link_up);
  EXPECT_EQ(sum.turns, 20u);
  EXPECT_EQ(sum.busy_ns, 6u);
  EXPECT_EQ(sum.engine.sent_packets, 14u);
  EXPECT_EQ(sum.engine.dropped, 3u);
  EXPECT_EQ(sum.engine.drops_of(DropReason::icrc), 2u);
  EXPECT_EQ(sum.engine.drops_of(DropReason::pkey), 1u);
  EXPECT_EQ(sum.all_qps.retransmitted, 4u);
  EXPECT_EQ(sum.port.rx_handed_over, 8u);
  ASSERT_EQ(sum.qps.size(), 2u);
  EXPECT_EQ(sum.qps[1].qpn, 18u);
  EXPECT_EQ(sum.mrs.size(), 1u);
  ASSERT_EQ(sum.cqs.size(), 2u);
  EXPECT_EQ(sum.cqs[0].lcore, 0u);
  EXPECT_EQ(sum.cqs[1].lcore, 1u);
  EXPECT_EQ(sum.cqs[1].handle, sum.cqs[0].handle);
}

}  // namespace
}  // namespace roce::verbs
