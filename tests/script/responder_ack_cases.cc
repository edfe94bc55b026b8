// Acknowledgements of the RC responder: when, in which order, with which MSN; answers to atomics.
// SPDX-License-Identifier: BSD-3-Clause
#include "script/registry.h"

namespace roce::script {
namespace {

/// Posts a SEND of the 8 bytes at offset 8, and lets the device do nothing before or after.
void post_at_once(Script& s) {
  ibv_sge sge{s.at(8), 8, s.mr().lkey()};
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_send_wr* bad = nullptr;
  s.expect_that(s.qp().post_send(&wr, &bad) == 0, "it is posted");
}

}  // namespace

RULE_CASE("A10", answer_of_the_application_leaves_before_the_ack) {
  connect();
  recv(1, 0, 8);
  port().put(frame_of(send_only(0).data(8).ack_req()));
  device().poll();
  post_at_once(*this);
  settle();
  expect({send_only(0).bytes(memory(8, 8)).ack_req(), ack(0, 1)});
  expect_received({received(1, 8)});
}

RULE_CASE("A10", busy_queue_pair_acknowledges_after_three_steps) {
  connect({.cap = {64, 32, 4, 4, 64}});
  port().put(frame_of(write_only(0).reth(at(0), rkey(), 0).ack_req()));
  device().poll();
  std::vector<Pkt> all;
  for (int32_t i = 0; i < 40; ++i) {
    post_at_once(*this);
    all.push_back(send_only(i).bytes(memory(8, 8)).ack_req());
  }
  all.insert(all.begin() + 32, ack(0, 1));  // two steps fill a burst of 32 frames
  settle();
  expect(all);
}

RULE_CASE("A10 R1", nak_does_not_wait) {
  connect();
  port().put(frame_of(write_only(1).reth(at(0), rkey(), 0)));
  device().poll();
  post_at_once(*this);
  settle();
  expect({nak_sequence(0, 0), send_only(0).bytes(memory(8, 8)).ack_req()});
  expect_drop(DropReason::out_of_sequence);
}

// --- duplicates

RULE_CASE("A1", no_ack_without_ack_req) {
  connect();
  inject(write_only(0).reth(at(0), rkey(), 4).data(4));
  advance(ms(1000));
  expect_nothing();
}

RULE_CASE("A1 A6", ack_req_on_a_first_packet_is_answered) {
  connect();
  inject(write_first(0).reth(at(0), rkey(), 300).data(256).ack_req());
  expect(ack(0, 0));
  inject(write_last(1).data(44).ack_req());
  expect(ack(1, 1));
}

RULE_CASE("A1 A6", ack_req_on_a_middle_packet_is_answered) {
  connect();
  inject(write_first(0).reth(at(0), rkey(), 600).data(256));
  inject(write_middle(1).data(256).ack_req());
  expect(ack(1, 0));
  inject(write_last(2).data(88));
  expect_nothing();
}

RULE_CASE("A2", one_ack_for_a_burst_has_the_psn_executed_last) {
  connect();
  std::vector<Pkt> burst;
  burst.reserve(20);
  for (int i = 0; i < 20; ++i) {
    burst.push_back(write_only(i).reth(at(0), rkey(), 1).data(1).ack_req());
  }
  inject(burst);
  expect(ack(19, 20));
  expect_counter(&QpCounters::acks_sent, 1);
}

RULE_CASE("A2", ack_covers_packets_behind_the_one_that_asked) {
  connect();
  inject({write_only(0).reth(at(0), rkey(), 1).data(1).ack_req(),
          write_only(1).reth(at(0), rkey(), 1).data(1)});
  expect(ack(1, 2));
}

RULE_CASE("A2 A7", nak_takes_the_place_of_the_ack_that_is_due) {
  connect();
  inject({write_only(0).reth(at(0), rkey(), 1).data(1).ack_req(),
          write_only(2).reth(at(0), rkey(), 1).data(1).ack_req()});
  expect(nak_sequence(1, 1));
  expect_drop(DropReason::out_of_sequence);
}

RULE_CASE("A3", msn_counts_messages_and_not_packets) {
  connect();
  recv(1, 0, 1000);
  inject({send_first(0).data(256).ack_req()});
  expect(ack(0, 0));
  inject({send_middle(1).data(256).ack_req()});
  expect(ack(1, 0));
  inject({send_last(2).data(1).ack_req()});
  expect(ack(2, 1));
  expect_received({received(1, 513)});
  inject({write_only(3).reth(at(0), rkey(), 0).ack_req()});
  expect(ack(3, 2));
}

RULE_CASE("A3 A5", msn_of_a_read_counts_at_its_start) {
  connect();
  inject(read_request(0).reth(at(0), rkey(), 600));
  expect({read_first(0, 1).bytes(memory(0, 256)), read_middle(1).bytes(memory(256, 256)),
          read_last(2, 1).bytes(memory(512, 88))});
  inject(write_only(3).reth(at(0), rkey(), 0).ack_req());
  expect(ack(3, 2));
}

RULE_CASE("A3 A8", msn_of_an_atomic_counts_at_once) {
  connect();
  set_word(64, 40);
  inject({fetch_add(0).atomic(at(64), rkey(), 2), fetch_add(1).atomic(at(64), rkey(), 3)});
  expect({atomic_ack(0, 1, 40), atomic_ack(1, 2, 42)});
  expect_that(word(64) == 45, "the sum is 45");
}

RULE_CASE("A4", replies_leave_in_the_order_of_the_requests) {
  connect();
  set_word(64, 1);
  inject({read_request(0).reth(at(256), rkey(), 300), fetch_add(2).atomic(at(64), rkey(), 1),
          read_request(3).reth(at(64), rkey(), 8)});
  expect({read_first(0, 1).bytes(memory(256, 256)), read_last(1, 1).bytes(memory(512, 44)),
          atomic_ack(2, 2, 1), read_only(3, 3).bytes(memory(64, 8))});
}

RULE_CASE("A4", ack_does_not_overtake_a_read_response) {
  connect();
  inject({read_request(0).reth(at(256), rkey(), 10),
          write_only(1).reth(at(0), rkey(), 4).data(4).ack_req()});
  expect({read_only(0, 1).bytes(memory(256, 10)), ack(1, 2)});
}

RULE_CASE("A4", nak_does_not_overtake_a_read_response) {
  connect();
  inject({read_request(0).reth(at(256), rkey(), 10),
          write_only(2).reth(at(0), rkey(), 4).data(4).ack_req()});
  expect({read_only(0, 1).bytes(memory(256, 10)), nak_sequence(1, 1)});
  expect_drop(DropReason::out_of_sequence);
}

RULE_CASE("A4 A1", read_response_acknowledges_what_is_before_it) {
  connect();
  inject({write_only(0).reth(at(0), rkey(), 4).data(4).ack_req(),
          read_request(1).reth(at(256), rkey(), 10)});
  expect(read_only(1, 2).bytes(memory(256, 10)));
}

RULE_CASE("A4", long_read_is_answered_whole_before_the_next_request) {
  connect();
  inject({read_request(0).reth(at(0), rkey(), 256 * 40),
          write_only(40).reth(at(60000), rkey(), 1).data(1).ack_req()});
  std::vector<Pkt> replies = {read_first(0, 1).bytes(memory(0, 256))};
  for (int i = 1; i < 39; ++i) {
    replies.push_back(read_middle(i).bytes(memory(size_t(i) * 256, 256)));
  }
  replies.push_back(read_last(39, 1).bytes(memory(size_t{39} * 256, 256)));
  replies.push_back(ack(40, 2));
  expect(replies);
}

RULE_CASE("A8", fetch_add_wraps) {
  connect();
  set_word(8, ~uint64_t{0});
  inject(fetch_add(0).atomic(at(8), rkey(), 2));
  expect(atomic_ack(0, 1, ~uint64_t{0}));
  expect_that(word(8) == 1, "the sum is 1");
}

RULE_CASE("A8", cmp_swap_stores_when_equal) {
  connect();
  set_word(8, 77);
  inject(cmp_swap(0).atomic(at(8), rkey(), 5, 77));
  expect(atomic_ack(0, 1, 77));
  expect_that(word(8) == 5, "the new value is there");
}

RULE_CASE("A8", cmp_swap_leaves_what_is_not_equal) {
  connect();
  set_word(8, 77);
  inject(cmp_swap(0).atomic(at(8), rkey(), 5, 76));
  expect(atomic_ack(0, 1, 77));
  expect_that(word(8) == 77, "the old value is there");
}

RULE_CASE("A9", write_with_immediate_takes_a_receive_at_its_last_packet) {
  connect();
  recv(1, 30000, 16);
  inject(write_first(0).reth(at(0), rkey(), 300).data(256));
  expect_nothing();
  inject(write_last_imm(1, 0xdeadbeef).data(44, 2).ack_req());
  expect(ack(1, 1));
  expect_received({done(1, IBV_WC_RECV_RDMA_WITH_IMM).len(300).imm(0xdeadbeef)});
  expect_memory(256, pattern(44, 2));
  expect_that(memory(30000, 1)[0] != pattern(1)[0], "the receive's own buffer is not written");
}

RULE_CASE("A9", send_behind_a_write_with_immediate_takes_the_next_receive) {
  connect();
  recv(1, 100, 16);
  recv(2, 200, 16);
  inject({write_only_imm(0, 1).reth(at(0), rkey(), 0), send_only(1).data(4).ack_req()});
  expect(ack(1, 2));
  expect_received({done(1, IBV_WC_RECV_RDMA_WITH_IMM).len(0).imm(1), received(2, 4)});
  expect_memory(200, pattern(4));
}

}  // namespace roce::script
