// RC operations that go wrong: each gets exactly what spec/error-behaviour.md says (its row is in
// the test's name).
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "qp/core.h"
#include "sim/rc_rig.h"

namespace roce::sim {
namespace {

ibv_qp_state state_of(const RigSide& side) {
  return side.qp.query().qp_state;
}

TEST(RcErrors, R11_AWrongRkeyIsARemoteAccessError) {
  RcRig rig;
  ibv_send_wr wr = rig.a.request(1, IBV_WR_RDMA_WRITE, 0, 10);
  wr.wr.rdma = {rig.b.address(0), rig.b.mr.rkey() ^ 0x100};
  ASSERT_EQ(rig.a.post(wr), 0);
  ASSERT_EQ(rig.a.send(2, 0, 10), 0);
  ASSERT_TRUE(rig.collect(2, 0));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(rig.a.done[0].vendor_err, 0x62u);
  EXPECT_EQ(rig.a.done[1].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(state_of(rig.a), IBV_QPS_ERR);
  EXPECT_EQ(state_of(rig.b), IBV_QPS_ERR);
  const auto event = rig.pair.device(1).take_async_event();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->type, IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(rig.b.memory[0], 0xbb) << "nothing was written";
}

TEST(RcErrors, R11_ReadPastTheEndOfTheRegion) {
  RcRig rig;
  ASSERT_EQ(rig.a.rdma(1, IBV_WR_RDMA_READ, 0, 2000, rig.b, rig.b.memory.size() - 1999), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_REM_ACCESS_ERR);
}

TEST(RcErrors, R8_ARightMissingOnTheQueuePairIsAnInvalidRequest) {
  RigOptions options;
  options.rc.access = IBV_ACCESS_REMOTE_READ;
  RcRig rig(options);
  ASSERT_EQ(rig.a.rdma(1, IBV_WR_RDMA_WRITE, 0, 10, rig.b, 0), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_REM_INV_REQ_ERR);
}

TEST(RcErrors, R8_ARightMissingOnTheRegionIsAnAccessError) {
  RigOptions options;
  options.mr_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
  RcRig rig(options);
  ASSERT_EQ(rig.a.rdma(1, IBV_WR_RDMA_WRITE, 0, 10, rig.b, 0), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_REM_ACCESS_ERR);
}

TEST(RcErrors, R12_ASendLongerThanTheReceiveBuffer) {
  RcRig rig;
  ASSERT_EQ(rig.b.recv(7, 0, 100), 0);
  ASSERT_EQ(rig.b.recv(8, 0, 100), 0);
  ASSERT_EQ(rig.a.send(1, 0, 3000), 0);
  ASSERT_TRUE(rig.collect(1, 2));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(rig.b.done[0].wr_id, 7u);
  EXPECT_EQ(rig.b.done[0].status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(rig.b.done[1].status, IBV_WC_WR_FLUSH_ERR);
}

TEST(RcErrors, R13_AReceiveBufferWithABadKey) {
  RcRig rig;
  ibv_sge sge = rig.b.sge(0, 100);
  sge.lkey ^= 1;
  ibv_recv_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(rig.b.qp.post_recv(&wr, &bad), 0);
  ASSERT_EQ(rig.a.send(1, 0, 10), 0);
  ASSERT_TRUE(rig.collect(1, 1));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_REM_OP_ERR);
  EXPECT_EQ(rig.b.done[0].status, IBV_WC_LOC_PROT_ERR);
}

TEST(RcErrors, R14_NothingAtAllNeedsNoKey) {
  RcRig rig;
  for (const ibv_wr_opcode op : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    ibv_send_wr wr = rig.a.request(1, op, 0, 0);
    wr.wr.rdma = {1, 2};
    ASSERT_EQ(rig.a.post(wr), 0);
  }
  ASSERT_TRUE(rig.collect(2, 0));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(rig.a.done[1].status, IBV_WC_SUCCESS);
}

TEST(RcErrors, R6_Q5_ALateReceiverIsWaitedFor) {
  RcRig rig;
  ASSERT_EQ(rig.a.send(1, 0, 10), 0);
  ASSERT_EQ(rig.a.send(2, 0, 10), 0);
  rig.pass(Duration::from_ms(3));
  EXPECT_TRUE(rig.a.done.empty());
  const QpCounters counters = rig.b.qp.counters();
  EXPECT_GT(counters.rnr_naks_sent, 100u) << "timer code 1 is 10 us";
  EXPECT_LT(counters.rnr_naks_sent, 310u) << "and not less";
  EXPECT_EQ(counters.sequence_naks_sent, 0u) << "what follows an RNR NAK is dropped silently";
  rig.b.recv(1, 0, 10);
  rig.b.recv(2, 0, 10);
  ASSERT_TRUE(rig.collect(2, 2));
  EXPECT_EQ(rig.a.done[1].status, IBV_WC_SUCCESS);
}

TEST(RcErrors, Q5_TheRnrRetryCounterRunsOut) {
  RigOptions options;
  options.rc.rnr_retry = 2;
  RcRig rig(options);
  ASSERT_EQ(rig.a.send(1, 0, 10), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_EQ(rig.b.qp.counters().rnr_naks_sent, 3u) << "1 try and 2 retries";
}

// Q4: retry_cnt 7 is seven, not "for ever" as with Soft-RoCE.
TEST(RcErrors, Q4_ADeadPeerEndsInRetryExceededWithinTheComputedTime) {
  for (const uint8_t retries : {uint8_t{0}, uint8_t{3}, uint8_t{7}}) {
    RigOptions options;
    options.sim.faults.loss = 1;
    options.rc.retry_cnt = retries;
    RcRig rig(options);
    const Instant start = rig.pair.clock().now();
    ASSERT_EQ(rig.a.send(1, 0, 10), 0);
    ASSERT_TRUE(rig.collect(1, 0));
    EXPECT_EQ(rig.a.done[0].status, IBV_WC_RETRY_EXC_ERR);
    const Duration timeout = Duration::from_ns(4096 << 8);
    const Duration took = rig.pair.clock().now() - start;
    EXPECT_GE(took, timeout * (retries + 1));
    EXPECT_LE(took, timeout * (retries + 1) + Duration::from_us(50));
    EXPECT_EQ(rig.a.qp.counters().retransmitted, retries);
    EXPECT_EQ(rig.a.qp.counters().retry_exceeded, 1u);
  }
}

TEST(RcErrors, Q4_TheFailureTellsHowFarSendingHadComeAndThatThePeerIsSilent) {
  RigOptions options;
  options.rc.retry_cnt = 2;
  RcRig rig(options);
  ASSERT_EQ(rig.a.rdma(1, IBV_WR_RDMA_WRITE, 0, 10, rig.b, 0), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  EXPECT_FALSE(rig.a.qp.send_failure().happened);
  { const verbs::Qp gone = std::move(rig.b.qp); }
  ASSERT_EQ(rig.a.rdma(2, IBV_WR_RDMA_WRITE, 0, 10, rig.b, 0), 0);
  ASSERT_EQ(rig.a.rdma(3, IBV_WR_RDMA_WRITE, 0, 10, rig.b, 0), 0);
  ASSERT_TRUE(rig.collect(2, 0));
  const SendFailure failure = rig.a.qp.send_failure();
  EXPECT_TRUE(failure.happened);
  EXPECT_EQ(failure.retries, 2);
  EXPECT_EQ(failure.peer, PeerConduct::silent);
  EXPECT_EQ((failure.last_sent - failure.last_acknowledged) & 0xffffff, 2u);
  EXPECT_EQ(failure.last_acknowledged, rig.a.qp.query().sq_psn);
  EXPECT_GT(failure.round_trip.ns, 0);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RESET;
  ASSERT_TRUE(rig.a.qp.modify(attr, IBV_QP_STATE));
  EXPECT_FALSE(rig.a.qp.send_failure().happened);
}

TEST(RcErrors, Q4_TimeoutZeroNeverEnds) {
  RigOptions options;
  options.sim.faults.loss = 1;
  options.rc.timeout = 0;
  RcRig rig(options);
  ASSERT_EQ(rig.a.send(1, 0, 10), 0);
  rig.pass(Duration::from_s(3));
  EXPECT_TRUE(rig.a.done.empty());
  EXPECT_EQ(rig.a.qp.counters().timeouts, 0u);
}

TEST(RcErrors, Q8_AReadIntoMemoryWithoutLocalWrite) {
  RcRig rig;
  const std::vector<uint8_t> fixed(100);
  auto mr = *rig.a.device.reg_mr(rig.a.pd, const_cast<uint8_t*>(fixed.data()), 100, 0);
  ibv_sge sge{reinterpret_cast<uint64_t>(fixed.data()), 100, mr.lkey()};
  ibv_send_wr wr = rig.a.request(1, IBV_WR_RDMA_READ, 0, 0);
  wr.sg_list = &sge;
  wr.wr.rdma = {rig.b.address(0), rig.b.mr.rkey()};
  ASSERT_EQ(rig.a.post(wr), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_LOC_PROT_ERR);
}

TEST(RcErrors, ABadSendBufferEndsAfterWhatWasBeforeIt) {
  RcRig rig;
  rig.b.recv(1, 0, 5000);
  ASSERT_EQ(rig.a.send(1, 0, 5000), 0);
  ibv_send_wr wr = rig.a.request(2, IBV_WR_SEND, 0, 10);
  wr.sg_list->lkey ^= 1;
  ASSERT_EQ(rig.a.post(wr), 0);
  ASSERT_EQ(rig.a.send(3, 0, 10), 0);
  ASSERT_TRUE(rig.collect(3, 1));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(rig.a.done[1].status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(rig.a.done[2].status, IBV_WC_WR_FLUSH_ERR);
}

TEST(RcErrors, Q11_EverythingPostedIsFlushedOnceAndInOrder) {
  RigOptions options;
  options.signal_all = false;
  RcRig rig(options);
  for (uint64_t i = 0; i < 10; ++i) {
    rig.a.recv(100 + i, 0, 10);
    rig.a.send(i, 0, 10);
  }
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  ASSERT_TRUE(rig.a.qp.modify(attr, IBV_QP_STATE));
  ASSERT_TRUE(rig.collect(20, 0));
  uint64_t next_send = 0;
  uint64_t next_recv = 100;
  for (const ibv_wc& wc : rig.a.done) {
    EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(wc.wr_id, wc.wr_id < 100 ? next_send++ : next_recv++);
  }
  // In ERR both queues still take requests, and flush them.
  EXPECT_EQ(rig.a.send(50, 0, 10), 0);
  EXPECT_EQ(rig.a.recv(51, 0, 10), 0);
  ASSERT_TRUE(rig.collect(22, 0));
}

TEST(RcErrors, ResetDiscardsRequestsAndCompletions) {
  RcRig rig;
  rig.b.recv(1, 0, 10);
  rig.a.recv(1, 0, 10);
  rig.a.send(1, 0, 10);
  rig.pair.run_until([] { return false; }, Duration::from_ms(1));  // completed, not polled
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RESET;
  ASSERT_TRUE(rig.a.qp.modify(attr, IBV_QP_STATE));
  rig.pass(Duration::from_ms(1));
  EXPECT_TRUE(rig.a.done.empty());
  EXPECT_EQ(rig.a.send(2, 0, 10), EINVAL);
  EXPECT_EQ(rig.a.recv(2, 0, 10), EINVAL);
}

TEST(RcErrors, R16_AFullCompletionQueueIsAnErrorForGood) {
  RigOptions options;
  options.cq_entries = 4;
  RcRig rig(options);
  for (uint64_t i = 0; i < 6; ++i) {
    rig.b.recv(i, 0, 10);
    rig.a.send(i, 0, 10);
  }
  rig.pair.run_until([] { return false; }, Duration::from_ms(20));
  ibv_wc wc[8];
  EXPECT_EQ(rig.b.cq.poll(wc), 4);
  EXPECT_EQ(rig.b.cq.poll(wc), -EOVERFLOW);
  EXPECT_EQ(state_of(rig.b), IBV_QPS_ERR);
  const auto event = rig.pair.device(1).take_async_event();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->type, IBV_EVENT_CQ_ERR);
}

TEST(RcErrors, DestroyingAQueuePairAtAnyMomentHarmsNobody) {
  for (int after = 0; after < 60; ++after) {
    RcRig rig;
    rig.b.recv(1, 0, 100'000);
    rig.a.send(1, 0, 100'000);
    rig.a.rdma(2, IBV_WR_RDMA_READ, 0, 50'000, rig.b, 0);
    for (int i = 0; i < after; ++i) {
      rig.pair.step();
    }
    { const verbs::Qp gone = std::move(rig.a.qp); }
    rig.pair.run_until([] { return false; }, Duration::from_ms(5));
    rig.a.qp = *rig.a.device.create_qp(rig.a.pd, rig.a.cq, rig.a.cq, RigSide::init({}));
  }
}

}  // namespace
}  // namespace roce::sim
