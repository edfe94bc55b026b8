// Calls with wrong arguments: the errno, the words, and that nothing has changed (spec 2, 4.1).
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstring>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <roce/snapshot.h>

#include "sim/rc_rig.h"

namespace roce::sim {
namespace {

bool mentions(const Status& s, std::string_view text) {
  return !s && s.error().reason.find(text) != std::string::npos;
}

SimOptions options_with_mtu(uint32_t mtu) {
  SimOptions options;
  options.port_mtu = mtu;
  return options;
}

class Calls : public testing::Test {
 protected:
  Calls() : side_(pair_.device(0), RigOptions{}, 0) {}

  void to_init() {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    ASSERT_TRUE(side_.qp.modify(
        attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
  }

  ibv_qp_attr rtr() {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = 0x1234;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.sgid_index = 1;
    attr.ah_attr.grh.dgid = *pair_.device(1).query_gid(1, 1);
    return attr;
  }
  static constexpr int kRtrMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

  SimPair pair_{options_with_mtu(1500)};
  RigSide side_;
};

TEST_F(Calls, AnEngineThatNobodyDrivesCannotTellOfItself) {
  std::string reason;
  std::thread([&] {
    reason = pair_.device(0).snapshot(Duration::from_ms(5)).error().reason;
  }).join();
  EXPECT_TRUE(reason.starts_with("nobody has driven the device for 5 ms")) << reason;
}

TEST_F(Calls, ARefusedModifyChangesNothingAndSaysWhy) {
  to_init();
  ibv_qp_attr attr = rtr();
  attr.path_mtu = IBV_MTU_4096;
  EXPECT_TRUE(
      mentions(side_.qp.modify(attr, kRtrMask), "path MTU of 4096 needs a port MTU of 4176"));
  attr = rtr();
  attr.max_dest_rd_atomic = 129;
  EXPECT_TRUE(mentions(side_.qp.modify(attr, kRtrMask), "max_dest_rd_atomic is 129"));
  attr = rtr();
  attr.ah_attr.is_global = 0;
  EXPECT_TRUE(mentions(side_.qp.modify(attr, kRtrMask), "is_global"));
  attr = rtr();
  attr.ah_attr.grh.sgid_index = 9;
  EXPECT_TRUE(mentions(side_.qp.modify(attr, kRtrMask), "sgid_index is 9"));
  attr = rtr();
  attr.ah_attr.grh.sgid_index = 0;
  EXPECT_TRUE(mentions(side_.qp.modify(attr, kRtrMask), "same family"));
  EXPECT_TRUE(mentions(side_.qp.modify(rtr(), kRtrMask & ~IBV_QP_RQ_PSN), "missing RQ_PSN"));
  EXPECT_EQ(side_.qp.query().qp_state, IBV_QPS_INIT);
  EXPECT_EQ(side_.qp.query().dest_qp_num, 0u);
  EXPECT_TRUE(side_.qp.modify(rtr(), kRtrMask));
  EXPECT_EQ(side_.qp.query().dest_qp_num, 0x1234u);
}

TEST_F(Calls, APeerThatNobodyKnowsEndsInHostUnreachable) {
  to_init();
  ibv_qp_attr attr = rtr();
  attr.ah_attr.grh.dgid.raw[15] = 77;
  const Instant start = pair_.clock().now();
  const Status s = side_.qp.modify(attr, kRtrMask);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code, EHOSTUNREACH);
  EXPECT_LE(pair_.clock().now() - start, Duration::from_s(4));
  EXPECT_EQ(side_.qp.query().qp_state, IBV_QPS_INIT);
}

TEST_F(Calls, CurStateMustHold) {
  to_init();
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  attr.cur_qp_state = IBV_QPS_RTS;
  EXPECT_TRUE(mentions(side_.qp.modify(attr, IBV_QP_STATE | IBV_QP_CUR_STATE), "INIT"));
}

TEST_F(Calls, PostingNeedsTheRightState) {
  EXPECT_EQ(side_.recv(1, 0, 1), EINVAL);
  EXPECT_EQ(side_.send(1, 0, 1), EINVAL);
  to_init();
  EXPECT_EQ(side_.recv(1, 0, 1), 0);
  EXPECT_EQ(side_.send(1, 0, 1), EINVAL);
  EXPECT_NE(side_.qp.post_error().find("RTS"), std::string_view::npos);
}

TEST_F(Calls, CreationLimitsAreNamed) {
  ibv_qp_init_attr attr = RigSide::init({});
  attr.cap.max_send_sge = 33;
  const auto qp = side_.device.create_qp(side_.pd, side_.cq, side_.cq, attr);
  ASSERT_FALSE(qp.has_value());
  EXPECT_NE(qp.error().reason.find("max_send_sge 33 is above the limit 32"), std::string::npos);
  EXPECT_EQ(side_.device.create_cq(0).error().code, EINVAL);
  EXPECT_EQ(side_.device.create_cq((1 << 20) + 1).error().code, EINVAL);
  EXPECT_TRUE(side_.device.create_cq(1 << 20));
  EXPECT_EQ(side_.device.query_gid(1, 50).error().code, EINVAL);
  EXPECT_EQ(side_.device.query_port(2).error().code, EINVAL);
}

/// Keys and numbers of a device with a source of its own.
std::array<uint32_t, 3> numbers_of_seed(uint64_t seed) {
  LoopbackLink link;
  VirtualClock clock;
  EngineConfig config;
  config.tables = {.max_qp = 16, .max_mr = 16};
  verbs::DeviceConfig with_source;
  with_source.random = [&seed] { return splitmix64(seed); };
  auto device = *verbs::Device::create(link.a(), clock, config, with_source);
  const verbs::Pd pd = *device->alloc_pd();
  const verbs::Cq cq = *device->create_cq(16);
  std::array<uint8_t, 8> bytes{};
  const verbs::Mr mr = *device->reg_mr(pd, bytes.data(), bytes.size(), 0);
  const verbs::Qp qp = *device->create_qp(pd, cq, cq, RigSide::init({}));
  return {mr.lkey(), qp.qpn(), device->random_psn()};
}

TEST(Random, KeysAndNumbersFollowFromTheSourceThatIsGiven) {
  EXPECT_EQ(numbers_of_seed(7), numbers_of_seed(7));
  EXPECT_NE(numbers_of_seed(7), numbers_of_seed(8));
}

TEST_F(Calls, RegionsNeedLocalWriteForRemoteWrite) {
  std::array<uint8_t, 8> bytes{};
  EXPECT_EQ(side_.device.reg_mr(side_.pd, bytes.data(), 8, IBV_ACCESS_REMOTE_WRITE).error().code,
            EINVAL);
  EXPECT_EQ(side_.device.reg_mr(side_.pd, bytes.data(), 0, 0).error().code, EINVAL);
  EXPECT_TRUE(side_.device.reg_mr(side_.pd, bytes.data(), 8, IBV_ACCESS_REMOTE_READ).has_value());
}

TEST(Posting, BadWrIsTheFirstThatWasNotPostedAndThoseBeforeItStand) {
  RcRig rig;
  rig.b.recv(1, 0, 10);
  ibv_sge sge = rig.a.sge(0, 10);
  std::array<ibv_send_wr, 3> wr{};
  for (size_t i = 0; i < wr.size(); ++i) {
    wr[i].wr_id = i;
    wr[i].opcode = IBV_WR_SEND;
    wr[i].sg_list = &sge;
    wr[i].num_sge = 1;
    wr[i].next = i + 1 < wr.size() ? &wr[i + 1] : nullptr;
  }
  wr[1].num_sge = 5;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(rig.a.qp.post_send(wr.data(), &bad), EINVAL);
  EXPECT_EQ(bad, &wr[1]);
  ASSERT_TRUE(rig.collect(1, 1));
  rig.pass(Duration::from_ms(2));
  EXPECT_EQ(rig.a.done.size(), 1u) << "the one after it was not posted";
}

TEST(Posting, AFullQueueIsOutOfMemory) {
  RigOptions options;
  options.cap.max_send_wr = 3;
  options.sim.faults.loss = 1;
  RcRig rig(options);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rig.a.send(i, 0, 1), 0);
  }
  EXPECT_EQ(rig.a.send(3, 0, 1), ENOMEM);
}

TEST(Posting, WrongRequestsAreRefusedWithAReason) {
  RcRig rig;
  ibv_send_wr wr = rig.a.request(1, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8);
  wr.wr.atomic.remote_addr = 4;
  EXPECT_EQ(rig.a.post(wr), EINVAL);
  EXPECT_NE(rig.a.qp.post_error().find("multiple of 8"), std::string_view::npos);
  wr = rig.a.request(1, IBV_WR_RDMA_READ, 0, 8);
  wr.send_flags = IBV_SEND_INLINE;
  EXPECT_EQ(rig.a.post(wr), EINVAL);
  wr = rig.a.request(1, IBV_WR_SEND, 0, 65);
  wr.send_flags = IBV_SEND_INLINE;
  EXPECT_EQ(rig.a.post(wr), EINVAL);
  EXPECT_NE(rig.a.qp.post_error().find("max_inline_data"), std::string_view::npos);
  wr = rig.a.request(1, IBV_WR_BIND_MW, 0, 0);
  EXPECT_EQ(rig.a.post(wr), EINVAL);
}

TEST(Posting, AnOpcodeThatIsNoneIsRefusedNotReadAsOne) {
  RcRig rig;
  ibv_send_wr wr = rig.a.request(1, IBV_WR_SEND, 0, 8);
  for (const uint32_t number : {12u, 16u, 17u, 256u + IBV_WR_SEND, UINT32_MAX}) {
    std::memcpy(&wr.opcode, &number, sizeof number);
    EXPECT_EQ(rig.a.post(wr), EINVAL) << number;
    EXPECT_NE(rig.a.qp.post_error().find("this opcode"), std::string_view::npos) << number;
  }
}

TEST(Posting, AListThatDoesNotFitWholeIsNotPostedAtAll) {
  RigOptions options;
  options.cap.max_send_wr = 4;
  RcRig rig(options);
  ibv_sge sge = rig.a.sge(0, 8);
  std::array<ibv_send_wr, 5> list{};
  for (size_t i = 0; i < list.size(); ++i) {
    list[i].wr_id = i;
    list[i].opcode = IBV_WR_RDMA_WRITE;
    list[i].sg_list = &sge;
    list[i].num_sge = 1;
    list[i].wr.rdma = {rig.b.address(0), rig.b.mr.rkey()};
    list[i].next = i + 1 < list.size() ? &list[i + 1] : nullptr;
  }
  EXPECT_EQ(rig.a.qp.post_send_all(list.data()), ENOMEM);
  rig.pass(Duration::from_ms(1));
  EXPECT_TRUE(rig.a.done.empty());
  list[3].next = nullptr;
  EXPECT_EQ(rig.a.qp.post_send_all(list.data()), 0) << "the queue is as it was";
  EXPECT_TRUE(rig.collect(4, 0));
}

}  // namespace
}  // namespace roce::sim
