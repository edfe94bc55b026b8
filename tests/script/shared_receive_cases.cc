// Shared receive queues, and the event that says that a send queue is drained.
// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>

#include "script/registry.h"

namespace roce::script {
namespace {

constexpr Setup kShared{.shared_receives = 8};

void arm(Script& s, uint32_t limit) {
  s.expect_that(s.srq().modify({0, 0, limit}, IBV_SRQ_LIMIT).has_value(), "the limit is armed");
}

}  // namespace

RULE_CASE("R17 L1", empty_shared_queue_is_a_receiver_not_ready) {
  connect(kShared);
  inject(send_only(0).data(8).ack_req());
  expect(rnr_nak(0, 0, 12));
  recv(1, 0, 8);
  inject(send_only(0).data(8).ack_req());
  expect(ack(0, 1));
  expect_received({received(1, 8)});
}

RULE_CASE("L1", shared_receives_are_taken_in_order) {
  connect(kShared);
  recv(1, 0, 8);
  recv(2, 100, 8);
  inject({send_only(0).data(4), send_only(1).data(8, 2).ack_req()});
  expect(ack(1, 2));
  expect_received({received(1, 4), received(2, 8)});
  expect_memory(100, pattern(8, 2));
}

RULE_CASE("L1", receives_are_not_posted_to_the_queue_pair) {
  connect(kShared);
  ibv_recv_wr wr{};
  ibv_recv_wr* bad = nullptr;
  expect_that(qp().post_recv(&wr, &bad) == EINVAL && bad == &wr, "it is refused");
}

RULE_CASE("L1 V5", full_shared_queue) {
  connect({.shared_receives = 2});
  recv(1, 0, 8);
  recv(2, 0, 8);
  ibv_recv_wr wr{};
  ibv_recv_wr* bad = nullptr;
  expect_that(srq().post_recv(&wr, &bad) == ENOMEM, "the third is refused");
}

RULE_CASE("R17 L2", limit_event_happens_once_per_arming) {
  connect(kShared);
  for (uint64_t i = 0; i < 4; ++i) {
    recv(i, 0, 8);
  }
  arm(*this, 3);
  inject(send_only(0).data(1));
  expect_received({received(0, 1)});
  inject(send_only(1).data(1));
  expect_event(IBV_EVENT_SRQ_LIMIT_REACHED);
  expect_received({received(1, 1)});
  expect_that(srq().query().srq_limit == 0, "the limit is 0 again");
  inject(send_only(2).data(1));
  expect_received({received(2, 1)});
  arm(*this, 1);
  inject(send_only(3).data(1));
  expect_event(IBV_EVENT_SRQ_LIMIT_REACHED);
  expect_received({received(3, 1)});
}

RULE_CASE("L2", limit_that_is_not_armed_gives_no_event) {
  connect(kShared);
  recv(1, 0, 8);
  inject(send_only(0).data(1));
  expect_received({received(1, 1)});
}

RULE_CASE("R17 L3", last_wqe_reached_and_posted_receives_stay) {
  connect(kShared);
  recv(1, 0, 8);
  move_to(IBV_QPS_ERR);
  expect_event(IBV_EVENT_QP_LAST_WQE_REACHED);
  expect_nothing();
}

RULE_CASE("L3 R7", shared_receive_in_use_ends_with_the_error) {
  connect(kShared);
  recv(1, 0, 1000);
  recv(2, 0, 1000);
  inject({send_first(0).data(256), send_only(1).data(4)});
  expect(nak_invalid(1, 0));
  expect_received({failed(1, IBV_WC_REM_INV_REQ_ERR)});
  expect_event(IBV_EVENT_QP_LAST_WQE_REACHED);
  expect_state(IBV_QPS_ERR);
}

// --- E12

RULE_CASE("E12", drained_event_after_the_last_acknowledgement) {
  connect();
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  ibv_qp_attr attr = attributes(IBV_QPS_SQD);
  attr.en_sqd_async_notify = 1;
  modify(attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
  expect_nothing();
  inject(ack(0, 1));
  expect_sent({done(1, IBV_WC_SEND)});
  expect_event(IBV_EVENT_SQ_DRAINED);
  advance(ms(1000));
  expect_nothing();
}

RULE_CASE("E12", drained_event_at_once_when_nothing_is_under_way) {
  connect();
  ibv_qp_attr attr = attributes(IBV_QPS_SQD);
  attr.en_sqd_async_notify = 1;
  modify(attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
  expect_event(IBV_EVENT_SQ_DRAINED);
}

RULE_CASE("E12", no_drained_event_unless_asked_for) {
  connect();
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  ibv_qp_attr attr = attributes(IBV_QPS_SQD);
  attr.en_sqd_async_notify = 1;
  modify(attr, IBV_QP_STATE);
  inject(ack(0, 1));
  expect_sent({done(1, IBV_WC_SEND)});
}

RULE_CASE("C5", established_once) {
  create();
  bring_to(IBV_QPS_RTR);
  inject(write_only(0).reth(0, 0, 0).ack_req());
  expect(ack(0, 1));
  expect_event(IBV_EVENT_COMM_EST);
  inject(write_only(1).reth(0, 0, 0).ack_req());
  expect(ack(1, 2));
}

RULE_CASE("C5", nothing_is_said_in_rts) {
  connect();
  inject(write_only(0).reth(0, 0, 0).ack_req());
  expect(ack(0, 1));
}

}  // namespace roce::script
