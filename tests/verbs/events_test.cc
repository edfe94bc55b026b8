// Completion channels, solicited events, timestamps, CQ resize, and the asynchronous events
// (spec/protocol-and-verbs.md 4.2).
// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <poll.h>

#include <utility>

#include <gtest/gtest.h>

#include "sim/rc_rig.h"

namespace roce::sim {
namespace {

bool readable(int fd) {
  pollfd p{fd, POLLIN, 0};
  return poll(&p, 1, 0) == 1;
}

ibv_qp_attr state(ibv_qp_state to) {
  ibv_qp_attr attr{};
  attr.qp_state = to;
  return attr;
}

/// A rig, and beside its queues a queue pair of side b whose completions come with events.
struct EventRig : RcRig {
  EventRig()
      : channel(*b.device.create_comp_channel()),
        cq(*b.device.create_cq(16, {.timestamps = true, .channel = &channel})),
        near(*a.device.create_qp(a.pd, a.cq, a.cq, RigSide::init({}))),
        far(*b.device.create_qp(b.pd, cq, cq, RigSide::init({}))) {
    EXPECT_EQ(connect_rc(pair, near, far, {}), "");
    fcntl(channel.fd(), F_SETFL, fcntl(channel.fd(), F_GETFL) | O_NONBLOCK);
    for (uint64_t i = 0; i < 8; ++i) {
      ibv_sge sge = b.sge(0, 4096);
      ibv_recv_wr wr{i, nullptr, &sge, 1};
      ibv_recv_wr* bad = nullptr;
      EXPECT_EQ(far.post_recv(&wr, &bad), 0);
    }
  }

  void send(bool solicited) {
    ibv_send_wr wr = a.request(1, IBV_WR_SEND, 0, 10);
    wr.send_flags = solicited ? IBV_SEND_SOLICITED : 0;
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(near.post_send(&wr, &bad), 0);
    pass(Duration::from_us(100));
  }

  verbs::CompChannel channel;
  verbs::Cq cq;
  verbs::Qp near;
  verbs::Qp far;
};

TEST(Events, AnArmedQueueTellsOnce) {
  EventRig rig;
  rig.send(false);
  EXPECT_FALSE(readable(rig.channel.fd())) << "not armed";
  ASSERT_TRUE(rig.cq.arm(false));
  EXPECT_FALSE(readable(rig.channel.fd())) << "what is there already does not count";
  rig.send(false);
  rig.send(false);
  ASSERT_TRUE(readable(rig.channel.fd()));
  const auto of = rig.channel.get_event();
  ASSERT_TRUE(of);
  EXPECT_EQ(of->handle(), rig.cq.handle());
  EXPECT_EQ(rig.cq.unacknowledged_events(), 1u);
  rig.cq.ack_events(1);
  EXPECT_EQ(rig.cq.unacknowledged_events(), 0u);
  EXPECT_FALSE(rig.channel.get_event()) << "one arming, one event";
}

TEST(Events, SolicitedOnlyWaitsForAMarkedMessageOrAnError) {
  EventRig rig;
  ASSERT_TRUE(rig.cq.arm(true));
  rig.send(false);
  EXPECT_FALSE(readable(rig.channel.fd()));
  rig.send(true);
  EXPECT_TRUE(readable(rig.channel.fd()));
  ASSERT_TRUE(rig.channel.get_event());
  ASSERT_TRUE(rig.cq.arm(true));
  ASSERT_TRUE(rig.far.modify(state(IBV_QPS_ERR), IBV_QP_STATE));
  rig.pass(Duration::from_us(100));
  EXPECT_TRUE(readable(rig.channel.fd())) << "flush errors";
}

TEST(Events, AWishForAnyIsNotNarrowed) {
  EventRig rig;
  ASSERT_TRUE(rig.cq.arm(false));
  ASSERT_TRUE(rig.cq.arm(true));
  rig.send(false);
  EXPECT_TRUE(readable(rig.channel.fd()));
}

TEST(Events, AQueueThatGoesTakesItsEventsWithIt) {
  EventRig rig;
  verbs::Cq gone = *rig.b.device.create_cq(4, {.channel = &rig.channel});
  {
    verbs::Qp qp = *rig.b.device.create_qp(rig.b.pd, gone, gone, RigSide::init({}));
    ASSERT_TRUE(gone.arm(false));
    ibv_qp_attr attr = state(IBV_QPS_INIT);
    attr.port_num = 1;
    ASSERT_TRUE(
        qp.modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
    ibv_sge sge = rig.b.sge(0, 10);
    ibv_recv_wr wr{1, nullptr, &sge, 1};
    ibv_recv_wr* bad = nullptr;
    ASSERT_EQ(qp.post_recv(&wr, &bad), 0);
    ASSERT_TRUE(qp.modify(state(IBV_QPS_ERR), IBV_QP_STATE));
    rig.pass(Duration::from_us(100));
    EXPECT_TRUE(readable(rig.channel.fd()));
  }
  gone = rig.cq;
  EXPECT_FALSE(readable(rig.channel.fd()));
}

TEST(Events, AQueueWithoutChannelCannotBeArmed) {
  RcRig rig;
  EXPECT_FALSE(rig.a.cq.arm(false));
}

TEST(Timestamps, GrowWithTime) {
  EventRig rig;
  rig.send(false);
  rig.send(false);
  verbs::TimedCompletion done[4];
  ASSERT_EQ(rig.cq.poll_timed(done), 2);
  EXPECT_LT(done[0].timestamp_ns, done[1].timestamp_ns);
  EXPECT_GE(done[0].timestamp_ns, 1'000'000'000u);
}

TEST(CqResize, KeepsWhatIsThere) {
  EventRig rig;
  rig.send(false);
  rig.send(false);
  rig.send(false);
  const Status refused = rig.cq.resize(2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, EINVAL);
  ASSERT_TRUE(rig.cq.resize(3));
  EXPECT_EQ(rig.cq.capacity(), 3);
  verbs::TimedCompletion done[4];
  ASSERT_EQ(rig.cq.poll_timed(done), 3);
  EXPECT_EQ(done[2].wc.wr_id, 2u);
  EXPECT_NE(done[2].timestamp_ns, 0u);
  EXPECT_FALSE(rig.cq.resize(0));
  ASSERT_TRUE(rig.cq.resize(32));
  rig.send(false);
  EXPECT_EQ(rig.cq.poll_timed(done), 1);
}

TEST(CqResize, CountsWhatHasBeenPostedBefore) {
  RigOptions options;
  options.rc.type = IBV_QPT_UC;  // sends complete when they have left
  RcRig rig(options);
  ASSERT_EQ(rig.a.send(1, 0, 10), 0);
  ASSERT_EQ(rig.a.send(2, 0, 10), 0);
  EXPECT_FALSE(rig.a.cq.resize(1));
  EXPECT_TRUE(rig.a.cq.resize(2));
}

TEST(AsyncEvents, TheFirstMessageBeforeRtsIsToldOfAsEstablished) {
  RcRig rig;
  verbs::Qp near = *rig.a.device.create_qp(rig.a.pd, rig.a.cq, rig.a.cq, RigSide::init({}));
  verbs::Qp far = *rig.b.device.create_qp(rig.b.pd, rig.b.cq, rig.b.cq, RigSide::init({}));
  ASSERT_EQ(connect_rc(rig.pair, near, far, {}), "");
  // Back to RTR, which connect_rc() has passed.
  ibv_qp_attr attr = far.query();
  ASSERT_TRUE(far.modify(state(IBV_QPS_RESET), IBV_QP_STATE));
  attr.qp_state = IBV_QPS_INIT;
  ASSERT_TRUE(
      far.modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
  attr.qp_state = IBV_QPS_RTR;
  ASSERT_TRUE(far.modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                                   IBV_QP_MIN_RNR_TIMER));
  ibv_send_wr wr = rig.a.request(1, IBV_WR_RDMA_WRITE, 0, 10);
  wr.wr.rdma = {rig.b.address(0), rig.b.mr.rkey()};
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(near.post_send(&wr, &bad), 0);
  ASSERT_EQ(near.post_send(&wr, &bad), 0);
  ASSERT_TRUE(rig.collect(2, 0));
  const auto event = rig.b.device.take_async_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, IBV_EVENT_COMM_EST);
  EXPECT_EQ(event->object, far.qpn());
  EXPECT_FALSE(rig.b.device.take_async_event()) << "once";
}

TEST(AsyncEvents, ADrainedSendQueueIsToldOfWhenAskedFor) {
  RcRig rig;
  ASSERT_EQ(rig.a.rdma(1, IBV_WR_RDMA_WRITE, 0, 100'000, rig.b, 0), 0);
  rig.pair.step();
  ibv_qp_attr attr = state(IBV_QPS_SQD);
  attr.en_sqd_async_notify = 1;
  ASSERT_TRUE(rig.a.qp.modify(attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY));
  ASSERT_EQ(rig.a.rdma(2, IBV_WR_RDMA_WRITE, 0, 10, rig.b, 0), 0);
  EXPECT_EQ(rig.a.qp.query().sq_draining, 1);
  EXPECT_FALSE(rig.a.device.take_async_event());
  rig.pass(Duration::from_ms(2));
  EXPECT_EQ(rig.a.done.size(), 1u) << "what was started is finished, the rest waits";
  EXPECT_EQ(rig.a.qp.query().sq_draining, 0);
  const auto event = rig.a.device.take_async_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, IBV_EVENT_SQ_DRAINED);
  ASSERT_TRUE(rig.a.qp.modify(state(IBV_QPS_RTS), IBV_QP_STATE));
  EXPECT_TRUE(rig.collect(2, 0));
}

/// Three WRITEs at side a, whose CQ has room for one.
class Overrun : public testing::Test {
 protected:
  Overrun() {
    for (uint64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(rig.a.rdma(i, IBV_WR_RDMA_WRITE, 0, 10, rig.b, 0), 0);
    }
  }

  static RigOptions one_entry() {
    RigOptions options;
    options.cq_entries = 1;
    return options;
  }

  RcRig rig{one_entry()};
};

TEST_F(Overrun, Q10_IsTheQueuesAndFatalToTheQueuePair) {
  for (int i = 0; i < 200; ++i) {
    rig.pair.step();
  }
  const auto first = rig.a.device.take_async_event();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->type, IBV_EVENT_CQ_ERR);
  EXPECT_EQ(first->object, rig.a.cq.handle());
  const auto second = rig.a.device.take_async_event();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->type, IBV_EVENT_QP_FATAL);
  EXPECT_EQ(second->object, rig.a.qp.qpn());
}

/// Found by uroce-sim, seed 425053: an overrun in the poll that is part of a resize, and then the
/// queue pair went before the next poll.
TEST_F(Overrun, Q10_IsToldOfAlthoughTheQueuePairHasGone) {
  rig.a.device.poll();
  for (int i = 0; i < 64; ++i) {
    rig.b.device.poll();  // an ACK may wait for some polls
  }
  ASSERT_TRUE(rig.a.cq.resize(8));
  EXPECT_EQ(rig.a.qp.query().qp_state, IBV_QPS_ERR);
  EXPECT_TRUE(readable(rig.a.device.async_fd()));
  { const verbs::Qp gone = std::move(rig.a.qp); }
  const auto event = rig.a.device.take_async_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, IBV_EVENT_CQ_ERR);
  EXPECT_EQ(event->object, rig.a.cq.handle());
  EXPECT_FALSE(rig.a.device.take_async_event()) << "its own events have gone with it";
  EXPECT_FALSE(readable(rig.a.device.async_fd()));
}

/// A WRITE to a wrong key: an event of the responder's.
void provoke_access_error(RcRig& rig) {
  ibv_send_wr wr = rig.a.request(1, IBV_WR_RDMA_WRITE, 0, 10);
  wr.wr.rdma = {rig.b.address(0), rig.b.mr.rkey() ^ 0x100};
  ASSERT_EQ(rig.a.post(wr), 0);
  ASSERT_TRUE(rig.collect(1, 0));
}

TEST(AsyncEvents, AreCountedByTheDescriptor) {
  RcRig rig;
  EXPECT_FALSE(readable(rig.b.device.async_fd()));
  provoke_access_error(rig);
  EXPECT_TRUE(readable(rig.b.device.async_fd()));
  ASSERT_TRUE(rig.b.device.take_async_event());
  EXPECT_FALSE(readable(rig.b.device.async_fd()));
}

TEST(AsyncEvents, OfBeforeTheDescriptorWasAskedForAreCountedAsWell) {
  RcRig rig;
  provoke_access_error(rig);
  rig.b.device.poll();  // hands up what the engine has noted
  EXPECT_TRUE(readable(rig.b.device.async_fd()));
  ASSERT_TRUE(rig.b.device.take_async_event());
  EXPECT_FALSE(readable(rig.b.device.async_fd()));
}

}  // namespace
}  // namespace roce::sim
