// A queue pair whose turn does not come in a poll, since others have used up its frames: what has
// become of it meanwhile is not seen yet, but neither is it lost or shown too late.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "sim/rc_rig.h"

namespace roce::sim {
namespace {

constexpr uint64_t kReceive = 77;
constexpr uint64_t kPosted = kTxBurst;
/// Two of them fill the frames of a step; it takes as many steps as pairs until all have had a
/// turn.
constexpr size_t kOthers = 4;

class LateTurn : public testing::Test {
 protected:
  LateTurn()
      : cq_(*rig_.b.device.create_cq(16)),
        late_(create(rig_.b, cq_)),
        peer_(create(rig_.a, rig_.a.cq)) {
    EXPECT_EQ(connect_rc(rig_.pair, peer_, *late_, {}), "");
    for (size_t i = 0; i < kOthers; ++i) {
      others_.push_back(create(rig_.b, rig_.b.cq));
      others_.push_back(create(rig_.a, rig_.a.cq));
      EXPECT_EQ(connect_rc(rig_.pair, others_[2 * i + 1], others_[2 * i], {}), "");
    }
    rig_.pair.step();  // each has had its turn since it was connected
    prepare();
  }

  static verbs::Qp create(RigSide& side, verbs::Cq& receives) {
    return *side.device.create_qp(side.pd, side.cq, receives, RigSide::init({}));
  }

  /// In the next poll late_ receives a message, and others fill all frames before its turn; in the
  /// step after it, two are still ahead of it.
  void prepare() {
    ASSERT_EQ(rig_.b.recv_on(*late_, kReceive, 0, 64), 0);
    ibv_send_wr send = rig_.a.request(1, IBV_WR_SEND, 0, 64);
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(peer_.post_send(&send, &bad), 0);
    rig_.a.device.poll();
    for (size_t i = 0; i < kOthers; ++i) {
      for (uint64_t id = 0; id < kPosted; ++id) {
        ibv_send_wr write = rig_.b.request(id, IBV_WR_RDMA_WRITE, 0, 64);
        write.wr.rdma = {rig_.a.address(0), rig_.a.mr.rkey()};
        ASSERT_EQ(others_[2 * i].post_send(&write, &bad), 0);
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
  verbs::Cq cq_;  // nobody else publishes it
  std::optional<verbs::Qp> late_;
  verbs::Qp peer_;
  std::vector<verbs::Qp> others_;  // side b's, its peer, side b's, ...
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
        return rig_.a.cq.poll({&wc, 1}) == 1 && wc.qp_num == peer_.qpn() &&
               wc.status == IBV_WC_SUCCESS;
      },
      Duration::from_ms(10)));
}

}  // namespace
}  // namespace roce::sim
