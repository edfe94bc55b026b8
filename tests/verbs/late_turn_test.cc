// A queue pair whose turn does not come in a poll, since others have used up its frames: what has
// become of it meanwhile is not seen yet, but neither is it lost or shown too late.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "sim/rc_rig.h"

namespace roce::sim {
namespace {

constexpr uint64_t kReceive = 77;
constexpr uint64_t kPosted = 2 * kTxBurst;

class LateTurn : public testing::Test {
 protected:
  LateTurn()
      : other_(*rig_.b.device.create_qp(rig_.b.pd, rig_.b.cq, rig_.b.cq, RigSide::init({}))),
        cq_(*rig_.b.device.create_cq(16)),
        late_(std::move(*rig_.b.device.create_qp(rig_.b.pd, rig_.b.cq, cq_, RigSide::init({})))),
        others_peer_(*rig_.a.device.create_qp(rig_.a.pd, rig_.a.cq, rig_.a.cq, RigSide::init({}))),
        lates_peer_(*rig_.a.device.create_qp(rig_.a.pd, rig_.a.cq, rig_.a.cq, RigSide::init({}))) {
    EXPECT_EQ(connect_rc(rig_.pair, others_peer_, other_, {}), "");
    EXPECT_EQ(connect_rc(rig_.pair, lates_peer_, *late_, {}), "");
    rig_.pair.step();  // each has had its turn since it was connected
    prepare();
  }

  /// In the next poll late_ receives a message, and two others fill all frames before its turn.
  void prepare() {
    ibv_sge sge = rig_.b.sge(0, 64);
    ibv_recv_wr receive{};
    receive.wr_id = kReceive;
    receive.sg_list = &sge;
    receive.num_sge = 1;
    ibv_recv_wr* bad_receive = nullptr;
    ASSERT_EQ(late_->post_recv(&receive, &bad_receive), 0);
    ibv_send_wr send = rig_.a.request(1, IBV_WR_SEND, 0, 64);
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(lates_peer_.post_send(&send, &bad), 0);
    rig_.a.device.poll();
    for (verbs::Qp* const qp : {&rig_.b.qp, &other_}) {
      for (uint64_t i = 0; i < kPosted; ++i) {
        ibv_send_wr write = rig_.b.request(i, IBV_WR_RDMA_WRITE, 0, 64);
        write.wr.rdma = {rig_.a.address(0), rig_.a.mr.rkey()};
        ASSERT_EQ(qp->post_send(&write, &bad), 0);
      }
    }
  }

  void receive() {
    rig_.b.device.poll();
    ASSERT_EQ(poll(), 0) << "its turn has come";
  }

  int poll() {
    ibv_wc wc{};
    const int n = cq_.poll({&wc, 1});
    seen_ = wc;
    return n;
  }

  RcRig rig_;
  verbs::Qp other_;
  verbs::Cq cq_;  // nobody else publishes it
  std::optional<verbs::Qp> late_;
  verbs::Qp others_peer_;
  verbs::Qp lates_peer_;
  ibv_wc seen_{};
};

TEST_F(LateTurn, ItsCompletionComesInALaterPoll) {
  receive();
  ASSERT_TRUE(rig_.pair.run_until([this] { return poll() == 1 && seen_.wr_id == kReceive; },
                                  Duration::from_ms(10)));
  EXPECT_EQ(seen_.qp_num, late_->qpn());
}

TEST_F(LateTurn, ItsCompletionSurvivesAResize) {
  ASSERT_TRUE(cq_.resize(8));  // with a poll in it
  ASSERT_EQ(poll(), 1);
  EXPECT_EQ(seen_.wr_id, kReceive);
}

TEST_F(LateTurn, ItsCompletionGoesWithTheQueuePair) {
  receive();
  late_.reset();
  ASSERT_TRUE(cq_.resize(8));  // shows what there is
  EXPECT_EQ(poll(), 0);
}

TEST_F(LateTurn, ItsPeerIsAnsweredBeforeItIsReset) {
  receive();
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RESET;
  ASSERT_TRUE(late_->modify(attr, IBV_QP_STATE));
  EXPECT_TRUE(rig_.pair.run_until(
      [this] {
        ibv_wc wc{};
        return rig_.a.cq.poll({&wc, 1}) == 1 && wc.qp_num == lates_peer_.qpn() &&
               wc.status == IBV_WC_SUCCESS;
      },
      Duration::from_ms(10)));
}

}  // namespace
}  // namespace roce::sim
