// Shared receive queues: order, limit event, resize, last WQE (rule R17; spec 4.3).
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <roce/counters.h>

#include "sim/rc_rig.h"

namespace roce::sim {
namespace {

RigOptions with_srq(uint32_t entries = 8) {
  RigOptions options;
  options.srq_entries = entries;
  return options;
}

std::vector<ibv_event_type> events_of(RigSide& side) {
  std::vector<ibv_event_type> types;
  while (const auto event = side.device.take_async_event()) {
    types.push_back(event->type);
  }
  return types;
}

TEST(SharedReceives, AreTakenInTheOrderOfPosting) {
  RcRig rig(with_srq());
  for (uint64_t i = 0; i < 8; ++i) {
    ASSERT_EQ(rig.b.recv(i, 4096 * i, 4096), 0);
  }
  EXPECT_EQ(rig.b.recv(8, 0, 4096), ENOMEM) << "8 entries hold 8";
  for (uint64_t i = 0; i < 8; ++i) {
    ASSERT_EQ(rig.a.send(i, 0, 3000), 0);
  }
  ASSERT_TRUE(rig.collect(8, 8));
  for (uint64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(rig.b.done[i].wr_id, i);
    EXPECT_EQ(rig.b.done[i].qp_num, rig.b.qp.qpn());
  }
  EXPECT_EQ(rig.b.recv(8, 0, 4096), 0) << "consumed ones made room";
}

TEST(SharedReceives, AnEmptyOneIsAnRnr) {
  RcRig rig(with_srq());
  ASSERT_EQ(rig.a.send(1, 0, 100), 0);
  rig.pass(Duration::from_us(200));
  EXPECT_GT(rig.b.qp.counters().rnr_naks_sent, 0u);
  ASSERT_EQ(rig.b.recv(1, 0, 4096), 0);
  ASSERT_TRUE(rig.collect(1, 1));
}

TEST(SharedReceives, R17_TheLimitEventComesOnceAnArming) {
  RcRig rig(with_srq());
  for (uint64_t i = 0; i < 6; ++i) {
    ASSERT_EQ(rig.b.recv(i, 0, 4096), 0);
  }
  ASSERT_TRUE(rig.b.srq->modify({8, 4, 5}, IBV_SRQ_LIMIT));
  EXPECT_EQ(rig.b.srq->query().srq_limit, 5u);
  ASSERT_EQ(rig.a.send(1, 0, 10), 0);
  ASSERT_TRUE(rig.collect(1, 1));
  EXPECT_TRUE(events_of(rig.b).empty()) << "5 are left: not below the limit";
  ASSERT_EQ(rig.a.send(2, 0, 10), 0);
  ASSERT_EQ(rig.a.send(3, 0, 10), 0);
  ASSERT_TRUE(rig.collect(3, 3));
  const auto event = rig.b.device.take_async_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(event->object, rig.b.srq->handle());
  EXPECT_TRUE(events_of(rig.b).empty());
  EXPECT_EQ(rig.b.srq->query().srq_limit, 0u) << "disarmed";
}

TEST(SharedReceives, AreResizedWithoutLosingWhatIsPosted) {
  RcRig rig(with_srq(4));
  for (uint64_t i = 0; i < 4; ++i) {
    ASSERT_EQ(rig.b.recv(i, 0, 4096), 0);
  }
  ASSERT_TRUE(rig.b.srq->modify({6, 4, 0}, IBV_SRQ_MAX_WR));
  ASSERT_EQ(rig.b.recv(4, 0, 4096), 0);
  ASSERT_EQ(rig.b.recv(5, 0, 4096), 0);
  EXPECT_EQ(rig.b.recv(6, 0, 4096), ENOMEM);
  const Status shrunk = rig.b.srq->modify({5, 4, 0}, IBV_SRQ_MAX_WR);
  ASSERT_FALSE(shrunk);
  EXPECT_EQ(shrunk.error().code, EINVAL);
  for (uint64_t i = 0; i < 6; ++i) {
    ASSERT_EQ(rig.a.send(i, 0, 10), 0);
  }
  ASSERT_TRUE(rig.collect(6, 6));
  ASSERT_TRUE(rig.b.srq->modify({2, 4, 0}, IBV_SRQ_MAX_WR));
  ASSERT_EQ(rig.b.recv(7, 0, 4096), 0);
  ASSERT_EQ(rig.b.recv(8, 0, 4096), 0);
  EXPECT_EQ(rig.b.recv(9, 0, 4096), ENOMEM);
}

TEST(SharedReceives, AQueuePairInErrorTellsThatItTakesNoMore) {
  RcRig rig(with_srq());
  ASSERT_EQ(rig.b.recv(1, 0, 4096), 0);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  ASSERT_TRUE(rig.b.qp.modify(attr, IBV_QP_STATE));
  rig.pass(Duration::from_ms(1));
  EXPECT_EQ(events_of(rig.b), std::vector{IBV_EVENT_QP_LAST_WQE_REACHED});
  EXPECT_TRUE(rig.b.done.empty()) << "what is posted stays for other queue pairs";
}

TEST(SharedReceives, TheQueuePairsOwnQueueIsClosed) {
  RcRig rig(with_srq());
  ibv_sge sge = rig.b.sge(0, 10);
  ibv_recv_wr wr{1, nullptr, &sge, 1};
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(rig.b.qp.post_recv(&wr, &bad), EINVAL);
  EXPECT_EQ(bad, &wr);
}

TEST(SharedReceives, WrongSizesAreRefused) {
  RcRig rig(with_srq());
  EXPECT_FALSE(rig.b.device.create_srq(rig.b.pd, {0, 1, 0}));
  EXPECT_FALSE(rig.b.device.create_srq(rig.b.pd, {16'385, 1, 0}));
  EXPECT_FALSE(rig.b.device.create_srq(rig.b.pd, {1, 33, 0}));
  EXPECT_FALSE(rig.b.srq->modify({8, 4, 9}, IBV_SRQ_LIMIT));
  EXPECT_FALSE(rig.b.srq->modify({8, 4, 9}, 8));
}

}  // namespace
}  // namespace roce::sim
