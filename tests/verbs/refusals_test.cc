// Every way in which a verbs call refuses its arguments, each with the words that a user sees.
// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/rc_rig.h"

namespace roce::sim {
namespace {

using ::testing::HasSubstr;

/// A value that the compiler need not know to be none of the enumeration's.
template <typename T>
T enumerator(int value) {
  return static_cast<T>(value);
}

template <typename T>
void expect_refused(const T& result, int code, const std::string& words) {
  ASSERT_FALSE(result) << words;
  EXPECT_EQ(result.error().code, code) << result.error().reason;
  EXPECT_THAT(result.error().reason, HasSubstr(words));
}

class Refusals : public testing::Test {
 protected:
  Refusals() : side_(pair_.device(0), RigOptions{}, 0) {}

  ibv_ah_attr peer() {
    ibv_ah_attr ah{};
    ah.is_global = 1;
    ah.port_num = 1;
    ah.grh.sgid_index = 1;
    ah.grh.dgid = *pair_.device(1).query_gid(1, 1);
    return ah;
  }

  SimPair pair_{SimOptions{}};
  RigSide side_;
};

TEST_F(Refusals, OfAnAddress) {
  struct Row {
    std::function<void(ibv_ah_attr&)> spoil;
    std::string words;
  };
  const std::vector<Row> rows = {
      {[](ibv_ah_attr& ah) { ah.is_global = 0; },
       "ah_attr.is_global is 0; RoCE addresses peers by GID: set it to 1 and fill in ah_attr.grh"},
      {[](ibv_ah_attr& ah) { ah.port_num = 2; }, "ah_attr.port_num is 2; use 1"},
      {[](ibv_ah_attr& ah) { ah.grh.sgid_index = 99; },
       "ah_attr.grh.sgid_index is 99; the largest allowed value is "},
      {[](ibv_ah_attr& ah) { ah.grh.flow_label = 1U << 20; },
       "ah_attr.grh.flow_label is 1048576; the largest allowed value is 1048575"},
      {[](ibv_ah_attr& ah) { ah.grh.dgid = {}; },
       "is neither a unicast nor a multicast address; give the GID of the peer"},
      {[](ibv_ah_attr& ah) { ah.grh.sgid_index = 0; }, "is not; choose a GID of the same family"},
  };
  for (const Row& row : rows) {
    ibv_ah_attr ah = peer();
    row.spoil(ah);
    expect_refused(side_.device.create_ah(side_.pd, ah), EINVAL, row.words);
  }
}

TEST_F(Refusals, OfAnAddressFromACompletion) {
  ibv_grh grh{};
  ibv_wc wc{};
  expect_refused(side_.device.init_ah_from_wc(1, wc, grh), EINVAL,
                 "the completion has no GRH; only those of received datagrams have");
  wc.wc_flags = IBV_WC_GRH;
  grh.version_tclass_flow = htonl(6U << 28);
  grh.dgid.raw[0] = 0x20;
  grh.sgid.raw[0] = 0x20;
  expect_refused(side_.device.init_ah_from_wc(1, wc, grh), EINVAL,
                 "which is none of this device's GIDs");
}

TEST_F(Refusals, OfAModify) {
  struct Row {
    int mask;
    std::function<void(ibv_qp_attr&)> spoil;
    std::string words;
  };
  const std::vector<Row> rows = {
      {IBV_QP_STATE, [](ibv_qp_attr& a) { a.qp_state = enumerator<ibv_qp_state>(9); },
       "qp_state is 9; use IBV_QPS_RESET (0) to IBV_QPS_ERR (6)"},
      {IBV_QP_PORT, [](ibv_qp_attr& a) { a.port_num = 3; }, "port_num is 3; use 1"},
      {IBV_QP_PKEY_INDEX, [](ibv_qp_attr& a) { a.pkey_index = 7; },
       "pkey_index is 7; the largest allowed value is 0"},
      {IBV_QP_PATH_MTU, [](ibv_qp_attr& a) { a.path_mtu = enumerator<ibv_mtu>(6); },
       ": not allowed here: PATH_MTU"},
      {IBV_QP_CUR_STATE, [](ibv_qp_attr& a) { a.cur_qp_state = IBV_QPS_RTS; },
       "cur_qp_state does not hold"},
      {IBV_QP_CUR_STATE, [](ibv_qp_attr& a) { a.cur_qp_state = enumerator<ibv_qp_state>(9); },
       "cur_qp_state does not hold"},
  };
  for (const Row& row : rows) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    row.spoil(attr);
    expect_refused(side_.qp.modify(attr, row.mask | IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                             IBV_QP_ACCESS_FLAGS),
                   EINVAL, row.words);
  }
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  expect_refused(side_.qp.modify(attr, IBV_QP_STATE), EINVAL, ": there is no such transition");
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  const int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  ASSERT_TRUE(side_.qp.modify(attr, init));
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = enumerator<ibv_mtu>(9);
  attr.ah_attr = peer();
  expect_refused(
      side_.qp.modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
      EINVAL, "path_mtu is 9; use IBV_MTU_256 (1) to IBV_MTU_4096 (5)");
}

TEST_F(Refusals, OfMemory) {
  std::array<uint8_t, 8> bytes{};
  const auto registered = [&](int access) {
    return side_.device.reg_mr(side_.pd, bytes.data(), bytes.size(), access);
  };
  expect_refused(registered(IBV_ACCESS_ON_DEMAND), EOPNOTSUPP,
                 "on-demand paging is not supported; leave IBV_ACCESS_ON_DEMAND out");
  expect_refused(registered(1 << 30), EINVAL,
                 "access flags 1073741824 are not known; see ibv_reg_mr");
  expect_refused(registered(IBV_ACCESS_REMOTE_ATOMIC), EINVAL,
                 "remote write or atomic access needs local write access as well");
  expect_refused(side_.mr.reregister(64, nullptr, nullptr, 0, 0), EINVAL,
                 "re-registration flags 64; use some of IBV_REREG_MR_CHANGE_TRANSLATION");
  expect_refused(side_.mr.reregister(IBV_REREG_MR_CHANGE_PD, nullptr, nullptr, 0, 0), EINVAL,
                 "IBV_REREG_MR_CHANGE_PD needs a protection domain");
  expect_refused(side_.device.alloc_mw(side_.pd, enumerator<ibv_mw_type>(3)), EINVAL,
                 "memory window type 3; use IBV_MW_TYPE_1");
}

TEST_F(Refusals, OfDeviceQueries) {
  expect_refused(side_.device.query_port(2), EINVAL, "port 2 does not exist; use port 1");
  expect_refused(side_.device.query_gid(1, 99), EINVAL,
                 "GID index 99 does not exist; the table has ");
  expect_refused(side_.device.query_pkey(1, 5), EINVAL,
                 "P_Key index 5 does not exist; the table has 1 entries");
}

TEST_F(Refusals, OfMulticast) {
  const ibv_gid nobody{};
  expect_refused(side_.qp.attach_mcast(nobody), EINVAL,
                 "only UD queue pairs receive from multicast groups");
  ibv_qp_init_attr init = RigSide::init({});
  init.qp_type = IBV_QPT_UD;
  auto datagrams = *side_.device.create_qp(side_.pd, side_.cq, side_.cq, init);
  expect_refused(datagrams.attach_mcast(nobody), EINVAL, "the GID is not a multicast address");
  expect_refused(datagrams.detach_mcast(nobody), EINVAL,
                 "the queue pair is not attached to this multicast group");
}

TEST_F(Refusals, OfSharedReceiveQueues) {
  expect_refused(side_.device.create_srq(side_.pd, {0, 1, 0}), EINVAL,
                 "max_wr is 0; allowed are 1..");
  auto srq = *side_.device.create_srq(side_.pd, {4, 1, 0});
  expect_refused(srq.modify({4, 1, 0}, 8), EINVAL,
                 "srq attribute mask 8; use IBV_SRQ_MAX_WR (1), IBV_SRQ_LIMIT (2) or both");
  expect_refused(srq.modify({4, 1, 5}, IBV_SRQ_LIMIT), EINVAL,
                 "srq_limit 5 is above the queue's max_wr 4");
}

TEST_F(Refusals, OfReceivesLongerThanAMessageCanBe) {
  std::array<ibv_sge, 2> sges = {side_.sge(0, 1), side_.sge(0, 1)};
  sges[0].length = sges[1].length = UINT32_MAX;
  ibv_recv_wr wr{};
  wr.sg_list = sges.data();
  wr.num_sge = 2;
  ibv_recv_wr* bad = nullptr;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  ASSERT_TRUE(
      side_.qp.modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
  EXPECT_EQ(side_.qp.post_recv(&wr, &bad), EINVAL);
  EXPECT_THAT(std::string(side_.qp.post_error()),
              HasSubstr("the receive buffers are longer than 2^32 - 1 bytes"));
}

TEST_F(Refusals, OfOneObjectTooMany) {
  std::vector<verbs::Pd> pds;
  Result<verbs::Pd> pd = side_.device.alloc_pd();
  while (pd && pds.size() < 1'000'000) {
    pds.push_back(std::move(*pd));
    pd = side_.device.alloc_pd();
  }
  expect_refused(pd, ENOMEM, "are in use; let go of some");
}

TEST(DeviceRefusals, OfItsConfiguration) {
  struct Row {
    std::function<void(verbs::DeviceConfig&)> spoil;
    std::string words;
  };
  const std::vector<Row> rows = {
      {[](verbs::DeviceConfig& c) { c.window_packets = 0; },
       "a window of 0 packets; allowed are 1.."},
      {[](verbs::DeviceConfig& c) { c.pkeys.clear(); },
       "a P_Key table of 0 entries; allowed are 1.."},
  };
  LoopbackLink link;
  VirtualClock clock;
  for (const Row& row : rows) {
    verbs::DeviceConfig config;
    row.spoil(config);
    expect_refused(verbs::Device::create(link.a(), clock, EngineConfig{}, config), EINVAL,
                   row.words);
  }
}

}  // namespace
}  // namespace roce::sim
