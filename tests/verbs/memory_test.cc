// Memory windows, invalidation, re-registration, zero-based regions, ATOMIC WRITE and FLUSH
// (spec/protocol-and-verbs.md 4.3; rule R15).
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <roce/counters.h>

#include "qp/wqe.h"
#include "sim/rc_rig.h"

namespace roce::sim {
namespace {

constexpr unsigned kWindowAccess = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

ibv_send_wr bind_request(RigSide& side, verbs::Mw& mw, uint32_t new_key, size_t at, size_t length) {
  ibv_send_wr wr{};
  wr.wr_id = 100;
  wr.opcode = IBV_WR_BIND_MW;
  wr.bind_mw.mw = mw.ibv();
  wr.bind_mw.rkey = new_key;
  wr.bind_mw.bind_info = {side.mr.ibv(), side.address(at), length, kWindowAccess};
  return wr;
}

/// Binds a window of type 2 on side b and returns its key.
uint32_t bind_type_2(RcRig& rig, verbs::Mw& mw, size_t at, size_t length) {
  const uint32_t key = ibv_inc_rkey(mw.rkey());
  const size_t done = rig.b.done.size();
  EXPECT_EQ(rig.b.post(bind_request(rig.b, mw, key, at, length)), 0);
  EXPECT_TRUE(rig.collect(rig.a.done.size(), done + 1));
  EXPECT_EQ(rig.b.done.back().status, IBV_WC_SUCCESS);
  EXPECT_EQ(rig.b.done.back().opcode, IBV_WC_BIND_MW);
  return key;
}

ibv_wc_status write_with(RcRig& rig, uint32_t rkey, size_t to) {
  ibv_send_wr wr = rig.a.request(1, IBV_WR_RDMA_WRITE, 0, 16);
  wr.wr.rdma = {rig.b.address(to), rkey};
  const size_t done = rig.a.done.size();
  EXPECT_EQ(rig.a.post(wr), 0);
  EXPECT_TRUE(rig.collect(done + 1, 0));
  return rig.a.done[done].status;
}

TEST(Windows, Type2OpensExactlyItsRange) {
  RcRig rig;
  verbs::Mw mw = *rig.b.device.alloc_mw(rig.b.pd, IBV_MW_TYPE_2);
  const uint32_t key = bind_type_2(rig, mw, 0x1000, 64);
  EXPECT_EQ(write_with(rig, key, 0x1000 + 48), IBV_WC_SUCCESS);
  EXPECT_EQ(write_with(rig, key, 0x1000 + 49), IBV_WC_REM_ACCESS_ERR);
}

TEST(Windows, AnUnboundOneOpensNothing) {
  RcRig rig;
  verbs::Mw mw = *rig.b.device.alloc_mw(rig.b.pd, IBV_MW_TYPE_2);
  EXPECT_EQ(write_with(rig, mw.rkey(), 0x1000), IBV_WC_REM_ACCESS_ERR);
}

TEST(Windows, Type2BelongsToTheQueuePairThatBoundIt) {
  RcRig rig;
  verbs::Qp other_a = *rig.a.device.create_qp(rig.a.pd, rig.a.cq, rig.a.cq, RigSide::init({}));
  verbs::Qp other_b = *rig.b.device.create_qp(rig.b.pd, rig.b.cq, rig.b.cq, RigSide::init({}));
  ASSERT_EQ(connect_rc(rig.pair, other_a, other_b, {}), "");
  verbs::Mw mw = *rig.b.device.alloc_mw(rig.b.pd, IBV_MW_TYPE_2);
  const uint32_t key = bind_type_2(rig, mw, 0, 4096);
  ibv_send_wr wr = rig.a.request(1, IBV_WR_RDMA_WRITE, 0, 16);
  wr.wr.rdma = {rig.b.address(0), key};
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(other_a.post_send(&wr, &bad), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_REM_ACCESS_ERR);
}

TEST(Windows, LocalInvalidateClosesType2AndItCanBeBoundAgain) {
  RcRig rig;
  verbs::Mw mw = *rig.b.device.alloc_mw(rig.b.pd, IBV_MW_TYPE_2);
  const uint32_t key = bind_type_2(rig, mw, 0, 4096);
  ibv_send_wr invalidate{};
  invalidate.opcode = IBV_WR_LOCAL_INV;
  invalidate.invalidate_rkey = key;
  ASSERT_EQ(rig.b.post(invalidate), 0);
  ASSERT_TRUE(rig.collect(0, 2));
  EXPECT_EQ(rig.b.done[1].status, IBV_WC_SUCCESS);
  EXPECT_EQ(rig.b.done[1].opcode, IBV_WC_LOCAL_INV);
  const uint32_t next = ibv_inc_rkey(key);
  ASSERT_EQ(rig.b.post(bind_request(rig.b, mw, next, 0, 4096)), 0);
  ASSERT_TRUE(rig.collect(0, 3));
  EXPECT_EQ(rig.b.done[2].status, IBV_WC_SUCCESS);
  EXPECT_EQ(write_with(rig, next, 0), IBV_WC_SUCCESS);
  EXPECT_EQ(write_with(rig, key, 0), IBV_WC_REM_ACCESS_ERR) << "the old key is dead";
}

TEST(Windows, ABoundType2IsNotBoundAgain) {
  RcRig rig;
  verbs::Mw mw = *rig.b.device.alloc_mw(rig.b.pd, IBV_MW_TYPE_2);
  const uint32_t key = bind_type_2(rig, mw, 0, 4096);
  ASSERT_EQ(rig.b.post(bind_request(rig.b, mw, ibv_inc_rkey(key), 0, 4096)), 0);
  ASSERT_TRUE(rig.collect(0, 2));
  EXPECT_EQ(rig.b.done[1].status, IBV_WC_MW_BIND_ERR);
  EXPECT_EQ(rig.b.qp.query().qp_state, IBV_QPS_ERR);
}

TEST(Windows, ABindBeyondTheRegionOrItsRightsFails) {
  for (const bool range : {true, false}) {
    RigOptions options;
    options.mr_access = range ? options.mr_access : IBV_ACCESS_LOCAL_WRITE;
    RcRig rig(options);
    verbs::Mw mw = *rig.b.device.alloc_mw(rig.b.pd, IBV_MW_TYPE_2);
    const size_t at = range ? rig.b.memory.size() - 10 : 0;
    ASSERT_EQ(rig.b.post(bind_request(rig.b, mw, ibv_inc_rkey(mw.rkey()), at, 11)), 0);
    ASSERT_TRUE(rig.collect(0, 1));
    EXPECT_EQ(rig.b.done[0].status, IBV_WC_MW_BIND_ERR) << range;
  }
}

TEST(Windows, Type1ChangesItsKeyWithEachBindAndServesAllQueuePairs) {
  RcRig rig;
  verbs::Mw mw = *rig.b.device.alloc_mw(rig.b.pd, IBV_MW_TYPE_1);
  const uint32_t first = mw.rkey();
  ibv_mw_bind bind{};
  bind.bind_info = {rig.b.mr.ibv(), rig.b.address(0), 4096, kWindowAccess};
  ASSERT_EQ(rig.b.qp.bind_mw(mw, bind), 0);
  const uint32_t second = mw.rkey();
  EXPECT_NE(first, second);
  ASSERT_TRUE(rig.collect(0, 1));
  EXPECT_EQ(write_with(rig, second, 0), IBV_WC_SUCCESS);
  ASSERT_EQ(rig.b.qp.bind_mw(mw, bind), 0) << "it may be bound again as it is";
  ASSERT_TRUE(rig.collect(0, 2));
  EXPECT_EQ(rig.b.done[1].status, IBV_WC_SUCCESS);
  EXPECT_EQ(write_with(rig, second, 0), IBV_WC_REM_ACCESS_ERR);
}

TEST(Windows, ARegionWithWindowsStaysAndLetsGoAfterwards) {
  RcRig rig;
  std::optional<verbs::Mw> mw = *rig.b.device.alloc_mw(rig.b.pd, IBV_MW_TYPE_2);
  bind_type_2(rig, *mw, 0, 4096);
  const Status kept = rig.b.mr.deregister();
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, EBUSY);
  EXPECT_NE(kept.error().reason.find("memory windows are bound to the region; unbind or free"),
            std::string::npos);
  mw.reset();
  EXPECT_TRUE(rig.b.mr.deregister());
}

TEST(Windows, SendWithInvalidateClosesTheReceiversWindow) {
  RcRig rig;
  verbs::Mw mw = *rig.b.device.alloc_mw(rig.b.pd, IBV_MW_TYPE_2);
  const uint32_t key = bind_type_2(rig, mw, 0, 4096);
  ASSERT_EQ(rig.b.recv(5, 0x2000, 4096), 0);
  ibv_send_wr wr = rig.a.request(1, IBV_WR_SEND_WITH_INV, 0, 2000);
  wr.invalidate_rkey = key;
  ASSERT_EQ(rig.a.post(wr), 0);
  ASSERT_TRUE(rig.collect(1, 2));
  EXPECT_EQ(rig.b.done[1].status, IBV_WC_SUCCESS);
  EXPECT_EQ(rig.b.done[1].wc_flags, static_cast<unsigned>(IBV_WC_WITH_INV));
  EXPECT_EQ(rig.b.done[1].invalidated_rkey, key);
  EXPECT_EQ(write_with(rig, key, 0), IBV_WC_REM_ACCESS_ERR);
}

TEST(Windows, R15_ABadKeyToInvalidateIsTheReceiversError) {
  RcRig rig;
  ASSERT_EQ(rig.b.recv(5, 0x2000, 4096), 0);
  ibv_send_wr wr = rig.a.request(1, IBV_WR_SEND_WITH_INV, 0, 20);
  wr.invalidate_rkey = rig.b.mr.rkey();  // a region, not a window
  ASSERT_EQ(rig.a.post(wr), 0);
  ASSERT_TRUE(rig.collect(1, 1));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_SUCCESS) << "the message itself has arrived";
  EXPECT_EQ(rig.b.done[0].status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(rig.b.qp.query().qp_state, IBV_QPS_ERR);
  EXPECT_EQ(write_with(rig, rig.b.mr.rkey(), 0), IBV_WC_RETRY_EXC_ERR);
}

TEST(LocalRequests, AreDoneInTurnAndOnceOverALossyWire) {
  RigOptions options;
  options.sim.faults.loss = 0.2;
  options.sim.seed = 3;
  RcRig rig(options);
  verbs::Mw mw = *rig.a.device.alloc_mw(rig.a.pd, IBV_MW_TYPE_2);
  uint32_t key = mw.rkey();
  uint64_t id = 0;
  for (int round = 0; round < 8; ++round) {
    ASSERT_EQ(rig.a.rdma(id++, IBV_WR_RDMA_WRITE, 0, 3000, rig.b, 0), 0);
    key = ibv_inc_rkey(key);
    ibv_send_wr bind = bind_request(rig.a, mw, key, 0, 64);
    bind.wr_id = id++;
    ASSERT_EQ(rig.a.post(bind), 0);
    ASSERT_EQ(rig.a.rdma(id++, IBV_WR_RDMA_READ, 0x2000, 3000, rig.b, 0), 0);
    ibv_send_wr invalidate{};
    invalidate.wr_id = id++;
    invalidate.opcode = IBV_WR_LOCAL_INV;
    invalidate.send_flags = IBV_SEND_FENCE;
    invalidate.invalidate_rkey = key;
    ASSERT_EQ(rig.a.post(invalidate), 0);
  }
  ASSERT_TRUE(rig.collect(id, 0, Duration::from_s(20)));
  for (uint64_t i = 0; i < id; ++i) {
    EXPECT_EQ(rig.a.done[i].wr_id, i);
    EXPECT_EQ(rig.a.done[i].status, IBV_WC_SUCCESS) << i;
  }
}

TEST(Regions, ReregistrationMovesTheMemoryUnderTheSameKey) {
  RcRig rig;
  std::vector<uint8_t> elsewhere(4096, 0xcc);
  const uint32_t key = rig.b.mr.rkey();
  ASSERT_TRUE(rig.b.mr.reregister(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, elsewhere.data(),
                                  elsewhere.size(), 0));
  EXPECT_EQ(rig.b.mr.rkey(), key);
  ibv_send_wr wr = rig.a.request(1, IBV_WR_RDMA_WRITE, 0, 16);
  wr.wr.rdma = {reinterpret_cast<uint64_t>(elsewhere.data()), key};
  ASSERT_EQ(rig.a.post(wr), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  EXPECT_EQ(elsewhere[0], 0xaa);
  EXPECT_EQ(write_with(rig, key, 0), IBV_WC_REM_ACCESS_ERR) << "the old memory is closed";
}

TEST(Regions, ReregistrationChangesRightsAndRefusesNonsense) {
  RcRig rig;
  EXPECT_FALSE(rig.b.mr.reregister(0, nullptr, nullptr, 0, 0));
  EXPECT_FALSE(rig.b.mr.reregister(64, nullptr, nullptr, 0, 0));
  EXPECT_FALSE(rig.b.mr.reregister(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                                   IBV_ACCESS_REMOTE_WRITE));
  EXPECT_FALSE(rig.b.mr.reregister(IBV_REREG_MR_CHANGE_PD, nullptr, nullptr, 0, 0));
  ASSERT_TRUE(
      rig.b.mr.reregister(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE));
  EXPECT_EQ(write_with(rig, rig.b.mr.rkey(), 0), IBV_WC_REM_ACCESS_ERR);
}

TEST(Regions, ZeroBasedAndChosenAddresses) {
  RcRig rig;
  const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  verbs::Mr zero =
      *rig.b.device.reg_mr(rig.b.pd, rig.b.memory.data(), 4096, access | IBV_ACCESS_ZERO_BASED);
  verbs::Mr chosen =
      *rig.b.device.reg_mr(rig.b.pd, rig.b.memory.data() + 4096, 4096, access, 0x5000'0000);
  const std::pair<uint64_t, uint32_t> targets[] = {{16, zero.rkey()}, {0x5000'0010, chosen.rkey()}};
  for (const auto& [address, key] : targets) {
    ibv_send_wr wr = rig.a.request(1, IBV_WR_RDMA_WRITE, 0, 16);
    wr.wr.rdma = {address, key};
    ASSERT_EQ(rig.a.post(wr), 0);
  }
  ASSERT_TRUE(rig.collect(2, 0));
  EXPECT_EQ(rig.b.memory[16], 0xaa);
  EXPECT_EQ(rig.b.memory[4096 + 16], 0xaa);
  EXPECT_EQ(rig.b.memory[15], 0xbb);
}

TEST(AtomicWrite, WritesEightBytesOnce) {
  RcRig rig;
  ibv_send_wr wr = rig.a.request(1, static_cast<ibv_wr_opcode>(SendOpcode::atomic_write), 0, 8);
  wr.wr.rdma = {rig.b.address(64), rig.b.mr.rkey()};
  ASSERT_EQ(rig.a.post(wr), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(rig.a.done[0].opcode, static_cast<int>(CompletionOpcode::atomic_write));
  EXPECT_EQ(rig.b.memory[64], 0xaa);
  EXPECT_EQ(rig.b.memory[72], 0xbb);
}

TEST(AtomicWrite, OtherLengthsAndAddressesAreRefused) {
  RcRig rig;
  ibv_send_wr wr = rig.a.request(1, static_cast<ibv_wr_opcode>(SendOpcode::atomic_write), 0, 4);
  wr.wr.rdma = {rig.b.address(64), rig.b.mr.rkey()};
  EXPECT_EQ(rig.a.post(wr), EINVAL);
  wr = rig.a.request(1, static_cast<ibv_wr_opcode>(SendOpcode::atomic_write), 0, 8);
  wr.wr.rdma = {rig.b.address(65), rig.b.mr.rkey()};
  EXPECT_EQ(rig.a.post(wr), EINVAL);
}

TEST(Flush, CompletesAfterWhatWasWrittenBefore) {
  RigOptions options;
  const int flush = static_cast<int>(Access::flush_global);
  options.rc.access |= flush;
  options.mr_access |= flush;
  RcRig rig(options);
  ASSERT_EQ(rig.a.rdma(1, IBV_WR_RDMA_WRITE, 0, 3000, rig.b, 0), 0);
  verbs::FlushRequest request;
  request.wr_id = 2;
  request.remote_addr = rig.b.address(0);
  request.rkey = rig.b.mr.rkey();
  request.length = 3000;
  ASSERT_EQ(rig.a.qp.post_flush(request), 0);
  request.whole_region = true;
  ASSERT_EQ(rig.a.qp.post_flush(request), 0);
  ASSERT_TRUE(rig.collect(3, 0));
  EXPECT_EQ(rig.a.done[1].status, IBV_WC_SUCCESS);
  EXPECT_EQ(rig.a.done[2].status, IBV_WC_SUCCESS);
  EXPECT_EQ(rig.a.done[1].opcode, static_cast<int>(CompletionOpcode::flush));
}

TEST(Flush, NeedsTheRight) {
  RcRig rig;
  verbs::FlushRequest request;
  request.remote_addr = rig.b.address(0);
  request.rkey = rig.b.mr.rkey();
  ASSERT_EQ(rig.a.qp.post_flush(request), 0);
  ASSERT_TRUE(rig.collect(1, 0));
  EXPECT_EQ(rig.a.done[0].status, IBV_WC_REM_INV_REQ_ERR);
}

}  // namespace
}  // namespace roce::sim
