// RC operations that go well: data, completions, order, accounting.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <numeric>

#include <gtest/gtest.h>

#include "engine/counters.h"
#include "port/port.h"
#include "sim/rc_rig.h"

namespace roce::sim {
namespace {

void count_up(std::vector<uint8_t>& memory) {
  std::iota(memory.begin(), memory.end(), uint8_t{1});
}

bool same(const RigSide& x, size_t from, const RigSide& y, size_t to, size_t n) {
  return std::equal(x.memory.begin() + static_cast<ptrdiff_t>(from),
                    x.memory.begin() + static_cast<ptrdiff_t>(from + n),
                    y.memory.begin() + static_cast<ptrdiff_t>(to));
}

class EveryPmtu : public testing::TestWithParam<ibv_mtu> {};

// R12: FIRST and MIDDLE are full, LAST has the rest; every length around the edges.
TEST_P(EveryPmtu, SendWriteAndReadOfEveryLengthAroundTheEdges) {
  RigOptions options;
  options.rc.pmtu = GetParam();
  RcRig rig(options);
  count_up(rig.a.memory);
  const size_t pmtu = size_t{128} << GetParam();
  uint64_t id = 0;
  for (const size_t n : {size_t{0}, size_t{1}, size_t{3}, pmtu - 1, pmtu, pmtu + 1, 2 * pmtu,
                         3 * pmtu - 1, 5 * pmtu + 2}) {
    std::fill(rig.b.memory.begin(), rig.b.memory.end(), uint8_t{0});
    ASSERT_EQ(rig.b.recv(id, 100, n), 0);
    ASSERT_EQ(rig.a.send(id, 7, n), 0);
    ASSERT_EQ(rig.a.rdma(id + 1, IBV_WR_RDMA_WRITE, 9, n, rig.b, 100'000), 0);
    ASSERT_EQ(rig.a.rdma(id + 2, IBV_WR_RDMA_READ, 500'000, n, rig.b, 200'000), 0);
    ASSERT_TRUE(rig.collect(rig.a.done.size() + 3, rig.b.done.size() + 1)) << n;
    EXPECT_EQ(rig.b.done.back().byte_len, n);
    EXPECT_TRUE(same(rig.a, 7, rig.b, 100, n)) << n;
    EXPECT_TRUE(same(rig.a, 9, rig.b, 100'000, n)) << n;
    EXPECT_EQ(rig.b.memory[100 + n], 0) << "not a byte more than " << n;
    EXPECT_EQ(rig.b.memory[100'000 + n], 0);
    EXPECT_TRUE(same(rig.a, 500'000, rig.b, 200'000, n)) << n;
    id += 3;
  }
  for (size_t i = 0; i < rig.a.done.size(); ++i) {
    EXPECT_EQ(rig.a.done[i].status, IBV_WC_SUCCESS);
    EXPECT_EQ(rig.a.done[i].wr_id, i);
  }
  EXPECT_EQ(rig.pair.device(0).counters().dropped, 0u);
  EXPECT_EQ(rig.pair.device(0).qp_counters().retransmitted, 0u);
}

INSTANTIATE_TEST_SUITE_P(Pmtu, EveryPmtu,
                         testing::Values(IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048,
                                         IBV_MTU_4096));

TEST(RcData, ImmediateDataArrivesAsSent) {
  RcRig rig;
  rig.b.recv(1, 0, 100);
  rig.b.recv(2, 0, 0);
  ibv_send_wr wr = rig.a.request(1, IBV_WR_SEND_WITH_IMM, 0, 10);
  wr.imm_data = 0x12345678;
  ASSERT_EQ(rig.a.post(wr), 0);
  wr = rig.a.request(2, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 3000);
  wr.imm_data = 0x9abcdef0;
  wr.wr.rdma = {rig.b.address(5000), rig.b.mr.rkey()};
  ASSERT_EQ(rig.a.post(wr), 0);
  ASSERT_TRUE(rig.collect(2, 2));
  EXPECT_EQ(rig.b.done[0].opcode, IBV_WC_RECV);
  EXPECT_EQ(rig.b.done[0].imm_data, 0x12345678u);
  EXPECT_EQ(rig.b.done[1].opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(rig.b.done[1].imm_data, 0x9abcdef0u);
  EXPECT_EQ(rig.b.done[1].byte_len, 3000u);
  EXPECT_TRUE((rig.b.done[1].wc_flags & IBV_WC_WITH_IMM) != 0);
  EXPECT_EQ(rig.b.done[1].src_qp, rig.a.qp.qpn());
}

// The window is smaller than the message, and ACKs are cumulative.
TEST(RcData, AMessageLargerThanTheWindowGetsThrough) {
  RigOptions options;
  options.sim.window_packets = 4;
  options.rc.pmtu = IBV_MTU_256;
  RcRig rig(options);
  count_up(rig.a.memory);
  ASSERT_EQ(rig.a.rdma(1, IBV_WR_RDMA_WRITE, 0, 300'000, rig.b, 0), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  EXPECT_TRUE(same(rig.a, 0, rig.b, 0, 300'000));
  EXPECT_EQ(rig.pair.device(0).qp_counters().retransmitted, 0u);
}

TEST(RcData, ABigWindowNeedsFewAcks) {
  RigOptions options;
  options.rc.pmtu = IBV_MTU_256;
  RcRig rig(options);
  ASSERT_EQ(rig.a.rdma(1, IBV_WR_RDMA_WRITE, 0, 1u << 20, rig.b, 0), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  EXPECT_LE(rig.pair.device(1).qp_counters().acks_sent, 4096u / 32);
}

TEST(RcData, ReadsInFlightStayWithinMaxRdAtomic) {
  RigOptions options;
  options.rc.rd_atomic = 1;
  RcRig rig(options);
  for (uint64_t i = 0; i < 8; ++i) {
    ASSERT_EQ(rig.a.rdma(i, IBV_WR_RDMA_READ, i * 5000, 5000, rig.b, 0), 0);
  }
  ASSERT_TRUE(rig.collect(8, 0));
  for (const ibv_wc& wc : rig.a.done) {
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  }
}

TEST(RcData, InlineDataMayBeReusedAtOnce) {
  RcRig rig;
  rig.b.recv(1, 0, 64);
  rig.a.memory[0] = 42;
  ibv_send_wr wr = rig.a.request(1, IBV_WR_SEND, 0, 64);
  wr.send_flags = IBV_SEND_INLINE;
  wr.sg_list->lkey = 0;  // not looked at
  ASSERT_EQ(rig.a.post(wr), 0);
  rig.a.memory[0] = 7;
  ASSERT_TRUE(rig.collect(1, 1));
  EXPECT_EQ(rig.b.memory[0], 42);
}

// Seen by UBSan: a copy of nothing from address 0 must not be asked of memcpy.
TEST(RcData, EmptyInlinePieceMayBeAnywhere) {
  RcRig rig;
  rig.b.recv(1, 0, 64);
  rig.a.memory[0] = 42;
  ibv_send_wr wr = rig.a.request(1, IBV_WR_SEND, 0, 8);
  std::array<ibv_sge, 2> pieces = {ibv_sge{0, 0, 0}, *wr.sg_list};
  wr.sg_list = pieces.data();
  wr.num_sge = 2;
  wr.send_flags = IBV_SEND_INLINE;
  ASSERT_EQ(rig.a.post(wr), 0);
  ASSERT_TRUE(rig.collect(1, 1));
  EXPECT_EQ(rig.b.memory[0], 42);
  EXPECT_EQ(rig.b.done[0].byte_len, 8u);
}

TEST(RcData, UnsignaledRequestsCompleteSilentlyButInOrder) {
  RigOptions options;
  options.signal_all = false;
  RcRig rig(options);
  for (uint64_t i = 0; i < 20; ++i) {
    ibv_send_wr wr = rig.a.request(i, IBV_WR_RDMA_WRITE, 0, 100);
    wr.wr.rdma = {rig.b.address(0), rig.b.mr.rkey()};
    wr.send_flags = i % 10 == 9 ? unsigned{IBV_SEND_SIGNALED} : 0u;
    ASSERT_EQ(rig.a.post(wr), 0);
  }
  ASSERT_TRUE(rig.collect(2, 0));
  rig.pass(Duration::from_ms(5));
  ASSERT_EQ(rig.a.done.size(), 2u);
  EXPECT_EQ(rig.a.done[0].wr_id, 9u);
  EXPECT_EQ(rig.a.done[1].wr_id, 19u);
}

TEST(RcData, TwoQueuePairsOfOneDeviceTalkToEachOther) {
  SimPair pair{SimOptions{}};
  const RigOptions options;
  RigSide x(pair.device(0), options, 1);
  RigSide y(pair.device(0), options, 2);
  // Both ends have the GID of side 0: connect them by hand.
  for (auto [self, peer] : {std::pair{&x, &y}, std::pair{&y, &x}}) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    ASSERT_TRUE(self->qp.modify(
        attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = peer->qp.qpn();
    attr.max_dest_rd_atomic = 1;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.sgid_index = 1;
    attr.ah_attr.grh.dgid = *pair.device(0).query_gid(1, 1);
    ASSERT_TRUE(self->qp.modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                          IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                                          IBV_QP_MIN_RNR_TIMER));
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 8;
    attr.retry_cnt = 1;
    attr.max_rd_atomic = 1;
    ASSERT_TRUE(self->qp.modify(attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                          IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                          IBV_QP_MAX_QP_RD_ATOMIC));
  }
  ASSERT_EQ(x.rdma(1, IBV_WR_RDMA_WRITE, 0, 900'000, y, 0), 0);
  ASSERT_EQ(x.rdma(2, IBV_WR_RDMA_READ, 0, 900'000, y, 1000), 0);
  ibv_wc wc[2];
  int n = 0;
  ASSERT_TRUE(pair.run_until(
      [&] {
        return (n += x.cq.poll({wc + n, size_t(2 - n)})) == 2;
      },
      Duration::from_s(1)));
  EXPECT_EQ(wc[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc[1].status, IBV_WC_SUCCESS);
  EXPECT_EQ(y.memory[899'999], 1);
  EXPECT_GT(pair.device(0).counters().looped_packets, 0u);
}

/// A program that ends as soon as it has its last message leaves its peer no unanswered send.
TEST(RcData, AQueuePairThatGoesAcknowledgesWhatItHasReceived) {
  for (const bool destroyed : {true, false}) {
    RcRig rig;
    std::optional<verbs::Qp> far =
        *rig.b.device.create_qp(rig.b.pd, rig.b.cq, rig.b.cq, RigSide::init({}));
    verbs::Qp near = *rig.a.device.create_qp(rig.a.pd, rig.a.cq, rig.a.cq, RigSide::init({}));
    ASSERT_EQ(connect_rc(rig.pair, near, *far, {}), "");
    ASSERT_EQ(rig.b.recv_on(*far, 7, 0, 100), 0);
    ibv_send_wr wr = rig.a.request(1, IBV_WR_SEND, 0, 10);
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(near.post_send(&wr, &bad), 0);
    rig.a.device.poll();
    rig.b.device.poll();
    ibv_wc wc[1];
    ASSERT_EQ(rig.b.cq.poll(wc), 1);
    if (destroyed) {
      far.reset();
    } else {
      ibv_qp_attr attr{};
      attr.qp_state = IBV_QPS_RESET;
      ASSERT_TRUE(far->modify(attr, IBV_QP_STATE));
    }
    ASSERT_TRUE(rig.collect(1, 0));
    EXPECT_EQ(rig.a.done[0].status, IBV_WC_SUCCESS) << destroyed;
  }
}

TEST(RcCounters, WhatADestroyedQueuePairHasCountedStaysCounted) {
  RcRig rig;
  ASSERT_EQ(rig.a.rdma(1, IBV_WR_RDMA_WRITE, 0, 100, rig.b, 0), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  const uint64_t acks = rig.pair.device(1).qp_counters().acks_sent;
  EXPECT_GT(acks, 0u);
  { const verbs::Qp gone = std::move(rig.b.qp); }
  EXPECT_EQ(rig.pair.device(1).qp_counters().acks_sent, acks);
}

}  // namespace
}  // namespace roce::sim
