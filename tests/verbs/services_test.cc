// UC and UD: what they carry, and what they drop without a word (rules UC*, UD* in docs/rules.md;
// spec/protocol-and-verbs.md 3.4 and 5.3, spec/error-behaviour.md 1.4).
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <roce/counters.h>

#include "sim/rc_rig.h"

namespace roce::sim {
namespace {

RigOptions options_for(ibv_qp_type type) {
  RigOptions options;
  options.rc.type = type;
  return options;
}

uint64_t drops(RcRig& rig, DropReason reason) {
  return rig.pair.device(1).counters().drops_of(reason);
}

// --- UC

TEST(Uc, SendAndWriteOfEveryLengthAroundTheEdges) {
  RcRig rig(options_for(IBV_QPT_UC));
  for (const size_t length : {0u, 1u, 3u, 1023u, 1024u, 1025u, 2048u, 5001u}) {
    for (size_t i = 0; i < length; ++i) {
      rig.a.memory[i] = static_cast<uint8_t>(i * 7 + length);
    }
    const size_t done = rig.b.done.size();
    ASSERT_EQ(rig.b.recv(length, 0, 8192), 0);
    ASSERT_EQ(rig.a.send(1, 0, length), 0);
    ASSERT_EQ(rig.a.rdma(2, IBV_WR_RDMA_WRITE, 0, length, rig.b, 0x10000), 0);
    ASSERT_TRUE(rig.collect(rig.a.done.size() + 2, done + 1)) << length;
    rig.pass(Duration::from_us(50));
    EXPECT_EQ(rig.b.done.back().byte_len, length);
    EXPECT_TRUE(std::equal(rig.a.memory.begin(),
                           rig.a.memory.begin() + static_cast<ptrdiff_t>(length),
                           rig.b.memory.begin()));
    EXPECT_TRUE(std::equal(rig.a.memory.begin(),
                           rig.a.memory.begin() + static_cast<ptrdiff_t>(length),
                           rig.b.memory.begin() + 0x10000));
  }
}

TEST(Uc, NobodyAcknowledges) {
  RcRig rig(options_for(IBV_QPT_UC));
  ASSERT_EQ(rig.b.recv(1, 0, 8192), 0);
  ASSERT_EQ(rig.a.send(1, 0, 5000), 0);
  ASSERT_TRUE(rig.collect(1, 1));
  EXPECT_EQ(rig.pair.device(1).counters().sent_packets, 0u);
}

TEST(Uc, WithoutAReceiveTheMessageIsDropped) {
  RcRig rig(options_for(IBV_QPT_UC));
  ASSERT_EQ(rig.a.send(1, 0, 3000), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  rig.pass(Duration::from_ms(1));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(drops(rig, DropReason::no_receive_wqe), 1u);
  EXPECT_EQ(drops(rig, DropReason::broken_message), 2u);
  ASSERT_EQ(rig.b.recv(9, 0, 8192), 0);
  ASSERT_EQ(rig.a.send(2, 0, 3000), 0);
  ASSERT_TRUE(rig.collect(2, 1)) << "the next message starts anew";
}

TEST(Uc, AMessageLongerThanTheBufferIsDroppedAndTheBufferServesTheNext) {
  RcRig rig(options_for(IBV_QPT_UC));
  ASSERT_EQ(rig.b.recv(5, 0, 2000), 0);
  ASSERT_EQ(rig.a.send(1, 0, 3000), 0);
  ASSERT_EQ(rig.a.send(2, 0, 2000), 0);
  ASSERT_TRUE(rig.collect(2, 1));
  EXPECT_EQ(rig.b.done[0].wr_id, 5u);
  EXPECT_EQ(rig.b.done[0].byte_len, 2000u);
  EXPECT_EQ(drops(rig, DropReason::message_too_long), 1u);
}

TEST(Uc, LostPacketsLoseWholeMessagesAndNothingElse) {
  RigOptions options = options_for(IBV_QPT_UC);
  options.sim.faults.loss = 0.05;
  options.sim.seed = 7;
  RcRig rig(options);
  constexpr size_t kMessages = 400;
  constexpr size_t kLength = 4000;
  size_t whole = 0;
  ASSERT_EQ(rig.b.recv(0, 0, kLength), 0);
  for (size_t i = 0; i < kMessages; ++i) {
    std::fill_n(rig.a.memory.begin(), kLength, static_cast<uint8_t>(i));
    ASSERT_EQ(rig.a.send(i, 0, kLength), 0);
    rig.pass(Duration::from_us(60));
    if (rig.b.done.size() > whole) {
      ++whole;
      EXPECT_EQ(rig.b.done.back().byte_len, kLength);
      EXPECT_TRUE(std::all_of(rig.b.memory.begin(), rig.b.memory.begin() + kLength,
                              [i](uint8_t v) { return v == static_cast<uint8_t>(i); }));
      ASSERT_EQ(rig.b.recv(i, 0, kLength), 0);
    }
  }
  EXPECT_GT(whole, kMessages / 2);
  EXPECT_LT(whole, kMessages);
}

TEST(Uc, AWriteWithoutTheRightIsDropped) {
  RigOptions options = options_for(IBV_QPT_UC);
  options.rc.access = 0;
  RcRig rig(options);
  ASSERT_EQ(rig.a.rdma(1, IBV_WR_RDMA_WRITE, 0, 100, rig.b, 0), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  rig.pass(Duration::from_ms(1));
  EXPECT_EQ(rig.b.memory[0], 0xbb);
  EXPECT_EQ(drops(rig, DropReason::access), 1u);
  EXPECT_EQ(rig.b.qp.query().qp_state, IBV_QPS_RTS);
}

TEST(Uc, ABadLocalKeyLeadsToSqeAndBack) {
  RcRig rig(options_for(IBV_QPT_UC));
  ibv_send_wr wr = rig.a.request(1, IBV_WR_SEND, 0, 100);
  rig.a.scratch.lkey ^= 0x100;
  ASSERT_EQ(rig.a.post(wr), 0);
  ASSERT_EQ(rig.a.send(2, 0, 100), 0);
  ASSERT_TRUE(rig.collect(2, 0));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(rig.a.done[1].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(rig.a.qp.query().qp_state, IBV_QPS_SQE);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  ASSERT_TRUE(rig.a.qp.modify(attr, IBV_QP_STATE));
  ASSERT_EQ(rig.b.recv(1, 0, 1000), 0);
  ASSERT_EQ(rig.a.send(3, 0, 100), 0);
  ASSERT_TRUE(rig.collect(3, 1));
  EXPECT_EQ(rig.a.done[2].status, IBV_WC_SUCCESS);
}

TEST(Uc, ReadsAndAtomicsAreRefusedAtThePost) {
  RcRig rig(options_for(IBV_QPT_UC));
  EXPECT_EQ(rig.a.rdma(1, IBV_WR_RDMA_READ, 0, 10, rig.b, 0), EINVAL);
  EXPECT_NE(rig.a.qp.post_error().find("type"), std::string_view::npos);
}

// --- UD

struct UdRig : RcRig {
  explicit UdRig(const RigOptions& options = options_for(IBV_QPT_UD))
      : RcRig(options),
        ah(*pair.device(0).create_ah(a.pd, pair.address_of(1, options.rc.gid_index))) {}

  ibv_send_wr datagram(uint64_t id, size_t length, ibv_wr_opcode op = IBV_WR_SEND) {
    ibv_send_wr wr = a.request(id, op, 0, length);
    wr.wr.ud.ah = ah.ibv();
    wr.wr.ud.remote_qpn = b.qp.qpn();
    wr.wr.ud.remote_qkey = 0x11111111;
    return wr;
  }

  verbs::Ah ah;
};

TEST(Ud, ADatagramArrivesBehindFortyBytesOfHeader) {
  UdRig rig;
  rig.a.memory[0] = 0x42;
  ASSERT_EQ(rig.b.recv(7, 0, 2048), 0);
  ibv_send_wr wr = rig.datagram(1, 100, IBV_WR_SEND_WITH_IMM);
  wr.imm_data = 0x01020304;
  ASSERT_EQ(rig.a.post(wr), 0);
  ASSERT_TRUE(rig.collect(1, 1));
  const ibv_wc& wc = rig.b.done[0];
  EXPECT_EQ(wc.byte_len, 140u);
  EXPECT_EQ(wc.src_qp, rig.a.qp.qpn());
  EXPECT_EQ(wc.wc_flags, static_cast<unsigned>(IBV_WC_GRH | IBV_WC_WITH_IMM));
  EXPECT_EQ(wc.imm_data, 0x01020304u);
  EXPECT_EQ(wc.sl, 2);
  EXPECT_EQ(rig.b.memory[0], 0) << "the first 20 bytes are zero for IPv4";
  EXPECT_EQ(rig.b.memory[20], 0x45) << "then comes the IPv4 header";
  EXPECT_EQ(rig.b.memory[40], 0x42);
}

TEST(Ud, OverIpv6TheHeaderIsTheGrh) {
  RigOptions options = options_for(IBV_QPT_UD);
  options.rc.gid_index = 0;
  UdRig rig(options);
  ASSERT_EQ(rig.b.recv(7, 0, 2048), 0);
  ASSERT_EQ(rig.a.post(rig.datagram(1, 5)), 0);
  ASSERT_TRUE(rig.collect(1, 1));
  EXPECT_EQ(rig.b.memory[0] >> 4, 6);
  EXPECT_EQ(rig.b.done[0].sl, 3);
}

TEST(Ud, AnAnswerFindsItsWayByTheCompletion) {
  UdRig rig;
  ASSERT_EQ(rig.b.recv(7, 0, 2048), 0);
  ASSERT_EQ(rig.a.recv(8, 0x1000, 2048), 0);
  ASSERT_EQ(rig.a.post(rig.datagram(1, 100)), 0);
  ASSERT_TRUE(rig.collect(1, 1));
  ibv_grh grh{};
  std::memcpy(&grh, rig.b.memory.data(), sizeof grh);
  const auto attr = rig.pair.device(1).init_ah_from_wc(1, rig.b.done[0], grh);
  ASSERT_TRUE(attr) << attr.error().reason;
  const auto back = rig.pair.device(1).create_ah(rig.b.pd, *attr);
  ASSERT_TRUE(back) << back.error().reason;
  ibv_send_wr wr = rig.b.request(2, IBV_WR_SEND, 0, 10);
  wr.wr.ud = {back->ibv(), rig.b.done[0].src_qp, 0x11111111};
  ASSERT_EQ(rig.b.post(wr), 0);
  EXPECT_TRUE(rig.collect(2, 2));
}

TEST(Ud, AWrongQkeyIsDroppedAndUsesNoReceive) {
  UdRig rig;
  ASSERT_EQ(rig.b.recv(7, 0, 2048), 0);
  ibv_send_wr wr = rig.datagram(1, 100);
  wr.wr.ud.remote_qkey = 0x11111112;
  ASSERT_EQ(rig.a.post(wr), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  rig.pass(Duration::from_ms(1));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(drops(rig, DropReason::qkey), 1u);
  ASSERT_EQ(rig.a.post(rig.datagram(2, 100)), 0);
  ASSERT_TRUE(rig.collect(2, 1));
}

TEST(Ud, TheUpperBitOfAQkeyAsksForTheQueuePairsOwn) {
  UdRig rig;
  ASSERT_EQ(rig.b.recv(7, 0, 2048), 0);
  ibv_send_wr wr = rig.datagram(1, 100);
  wr.wr.ud.remote_qkey = 0x80000000;
  ASSERT_EQ(rig.a.post(wr), 0);
  EXPECT_TRUE(rig.collect(1, 1));
}

TEST(Ud, WithoutAReceiveOrWithAShortOneTheDatagramIsDropped) {
  UdRig rig;
  ASSERT_EQ(rig.a.post(rig.datagram(1, 100)), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  rig.pass(Duration::from_ms(1));
  EXPECT_EQ(drops(rig, DropReason::no_receive_wqe), 1u);
  ASSERT_EQ(rig.b.recv(7, 0, 139), 0);
  ASSERT_EQ(rig.a.post(rig.datagram(2, 100)), 0);
  ASSERT_EQ(rig.a.post(rig.datagram(3, 99)), 0);
  ASSERT_TRUE(rig.collect(3, 1));
  EXPECT_EQ(drops(rig, DropReason::message_too_long), 1u);
  EXPECT_EQ(rig.b.done[0].byte_len, 139u) << "the buffer served the next datagram";
  EXPECT_EQ(rig.b.qp.query().qp_state, IBV_QPS_RTS);
}

TEST(Ud, ADatagramBeyondThePathMtuIsRefused) {
  UdRig rig;
  EXPECT_EQ(rig.a.post(rig.datagram(1, 4096)), 0);
  EXPECT_EQ(rig.a.post(rig.datagram(1, 4097)), EINVAL);
}

TEST(Ud, ABadLocalKeyStopsSendingOnly) {
  UdRig rig;
  ibv_send_wr wr = rig.datagram(1, 100);
  rig.a.scratch.lkey ^= 0x100;
  ASSERT_EQ(rig.a.post(wr), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(rig.a.qp.query().qp_state, IBV_QPS_SQE);
}

TEST(Ud, AnAddressHandleMayGoOnceItsRequestIsPosted) {
  UdRig rig;
  ASSERT_EQ(rig.b.recv(7, 0, 2048), 0);
  {
    const auto ah = rig.pair.device(0).create_ah(rig.a.pd, rig.pair.address_of(1, 1));
    ASSERT_TRUE(ah);
    ibv_send_wr wr = rig.datagram(1, 100);
    wr.wr.ud.ah = ah->ibv();
    ASSERT_EQ(rig.a.post(wr), 0);
  }
  EXPECT_TRUE(rig.collect(1, 1));
}

TEST(Ud, AGroupReachesEachMemberButTheSender) {
  UdRig rig;
  ibv_gid group{};
  group.raw[0] = 0xff;
  group.raw[1] = 0x0e;
  group.raw[15] = 0x77;
  ASSERT_TRUE(rig.a.qp.attach_mcast(group));
  ASSERT_TRUE(rig.b.qp.attach_mcast(group));
  verbs::Qp third =
      *rig.a.device.create_qp(rig.a.pd, rig.a.cq, rig.a.cq, RigSide::init(options_for(IBV_QPT_UD)));
  RcParameters parameters;
  parameters.type = IBV_QPT_UD;
  verbs::Qp fourth =
      *rig.b.device.create_qp(rig.b.pd, rig.b.cq, rig.b.cq, RigSide::init(options_for(IBV_QPT_UD)));
  ASSERT_EQ(connect_rc(rig.pair, third, fourth, parameters), "");
  ASSERT_TRUE(third.attach_mcast(group));
  ASSERT_EQ(rig.a.recv(1, 0x4000, 2048), 0);
  ASSERT_EQ(rig.b.recv(2, 0x4000, 2048), 0);
  ibv_sge sge = rig.a.sge(0x8000, 2048);
  ibv_recv_wr recv{3, nullptr, &sge, 1};
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(third.post_recv(&recv, &bad), 0);

  ibv_ah_attr to_group = rig.pair.address_of(1, 0);
  to_group.grh.dgid = group;
  const auto ah = rig.pair.device(0).create_ah(rig.a.pd, to_group);
  ASSERT_TRUE(ah) << ah.error().reason;
  ibv_send_wr wr = rig.datagram(10, 100);
  wr.wr.ud.ah = ah->ibv();
  wr.wr.ud.remote_qpn = 0xffffff;
  ASSERT_EQ(rig.a.post(wr), 0);
  ASSERT_TRUE(rig.collect(2, 1));
  rig.pass(Duration::from_ms(1));
  EXPECT_EQ(rig.a.done.size(), 2u) << "its own send, and the receive of its neighbour";
  EXPECT_EQ(rig.b.done.size(), 1u);
  EXPECT_EQ(rig.b.done[0].src_qp, rig.a.qp.qpn());

  ASSERT_TRUE(rig.b.qp.detach_mcast(group));
  EXPECT_FALSE(rig.b.qp.detach_mcast(group));
  ASSERT_EQ(rig.a.post(wr), 0);
  rig.pass(Duration::from_ms(1));
  EXPECT_EQ(drops(rig, DropReason::unknown_group), 1u);
}

TEST(Ud, OnlyGroupsAreJoinedAndOnlyByUd) {
  UdRig rig;
  EXPECT_FALSE(rig.a.qp.attach_mcast(*rig.a.device.query_gid(1, 1)));
  RcRig rc;
  ibv_gid group{};
  group.raw[0] = 0xff;
  EXPECT_FALSE(rc.a.qp.attach_mcast(group));
}

}  // namespace
}  // namespace roce::sim
