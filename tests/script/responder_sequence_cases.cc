// Sequence: gaps and duplicates of the RC responder.
// SPDX-License-Identifier: BSD-3-Clause
#include "script/registry.h"

namespace roce::script {

RULE_CASE("R1 A7", gap_is_naked_once_with_the_expected_psn) {
  connect();
  recv(1, 0, 100);
  inject(send_only(2).data(10).ack_req());
  expect(nak_sequence(0, 0));
  expect_drop(DropReason::out_of_sequence);
  inject(send_only(3).data(10).ack_req());
  expect_drop(DropReason::out_of_sequence);
  inject(send_only(0).data(10).ack_req());
  expect(ack(0, 1));
  expect_received({received(1, 10)});
  expect_memory(0, pattern(10));
}

RULE_CASE("R1", gap_nak_is_sent_again_after_the_expected_one_has_come) {
  connect();
  inject(write_only(1).reth(at(0), rkey(), 0));
  expect(nak_sequence(0, 0));
  expect_drop(DropReason::out_of_sequence);
  inject(write_only(0).reth(at(0), rkey(), 0));
  expect_nothing();
  inject(write_only(2).reth(at(0), rkey(), 0));
  expect(nak_sequence(1, 1));
  expect_drop(DropReason::out_of_sequence);
}

RULE_CASE("R1 R2", duplicates_are_answered_while_a_gap_is_open) {
  connect();
  inject(write_only(0).reth(at(0), rkey(), 4).data(4).ack_req());
  expect(ack(0, 1));
  inject(write_only(2).reth(at(8), rkey(), 4).data(4).ack_req());
  expect(nak_sequence(1, 1));
  expect_drop(DropReason::out_of_sequence);
  inject(write_only(0).reth(at(0), rkey(), 4).data(4).ack_req());
  expect(ack(0, 1));
  inject(write_only(3).reth(at(8), rkey(), 4).data(4).ack_req());
  expect_drop(DropReason::out_of_sequence);
}

RULE_CASE("R1 A7", what_is_wrong_with_a_packet_ahead_does_not_matter) {
  connect();
  inject(write_only(5).reth(at(0), rkey() ^ 1, 4).data(4).ack_req());
  expect(nak_sequence(0, 0));
  expect_drop(DropReason::out_of_sequence);
  expect_state(IBV_QPS_RTS);
}

RULE_CASE("R1", half_the_psn_space_is_ahead_and_half_is_behind) {
  connect();
  inject(write_only(0x7fffff).reth(at(0), rkey(), 0).ack_req());
  expect(nak_sequence(0, 0));
  expect_drop(DropReason::out_of_sequence);
  inject(write_only(0).reth(at(0), rkey(), 0).ack_req());
  expect(ack(0, 1));
  inject(write_only(1 - 0x800000).reth(at(0), rkey(), 0).ack_req());
  expect(ack(0, 1));
}

RULE_CASE("R1", middle_of_a_message_missing) {
  connect();
  inject({write_first(0).reth(at(0), rkey(), 600).data(256), write_last(2).data(88).ack_req()});
  expect(nak_sequence(1, 0));
  expect_drop(DropReason::out_of_sequence);
  inject({write_middle(1).data(256, 2), write_last(2).data(88, 3).ack_req()});
  expect(ack(2, 1));
  expect_memory(512, pattern(88, 3));
}

RULE_CASE("R1", gap_before_a_read_request) {
  connect();
  inject(read_request(3).reth(at(0), rkey(), 10));
  expect(nak_sequence(0, 0));
  expect_drop(DropReason::out_of_sequence);
}

RULE_CASE("R1", gap_before_an_atomic) {
  connect();
  inject(fetch_add(1).atomic(at(0), rkey(), 1));
  expect(nak_sequence(0, 0));
  expect_drop(DropReason::out_of_sequence);
  expect_memory_untouched();
}

// --- when the ACK leaves

RULE_CASE("R2", duplicate_send_only_is_acknowledged_and_takes_no_receive) {
  connect();
  recv(1, 0, 100);
  recv(2, 200, 100);
  inject(send_only(0).data(10).ack_req());
  expect(ack(0, 1));
  expect_received({received(1, 10)});
  inject(send_only(0).data(10).ack_req());
  expect(ack(0, 1));
  inject(send_only(1).data(10).ack_req());
  expect(ack(1, 2));
  expect_received({received(2, 10)});
}

RULE_CASE("R2", duplicate_send_with_immediate_gives_no_second_completion) {
  connect();
  recv(1, 0, 100);
  inject(send_only_imm(0, 7).data(10).ack_req());
  expect(ack(0, 1));
  expect_received({received(1, 10).imm(7)});
  inject(send_only_imm(0, 7).data(10).ack_req());
  expect(ack(0, 1));
}

RULE_CASE("R2", duplicate_send_is_acknowledged_with_the_newest_psn) {
  connect();
  for (uint64_t i = 0; i < 3; ++i) {
    recv(i, 0, 100);
  }
  inject({send_only(0).data(1), send_only(1).data(2), send_only(2).data(3).ack_req()});
  expect(ack(2, 3));
  expect_received({received(0, 1), received(1, 2), received(2, 3)});
  inject(send_only(0).data(1).ack_req());
  expect(ack(2, 3));
}

RULE_CASE("R2", duplicate_write_does_not_write) {
  connect();
  inject(write_only(0).reth(at(0), rkey(), 8).data(8, 1).ack_req());
  expect(ack(0, 1));
  set_memory(0, pattern(8, 9));
  inject(write_only(0).reth(at(0), rkey(), 8).data(8, 1).ack_req());
  expect(ack(0, 1));
  expect_memory(0, pattern(8, 9));
}

RULE_CASE("R2", duplicate_write_with_immediate_takes_no_receive) {
  connect();
  recv(1, 0, 0);
  recv(2, 0, 0);
  inject(write_only_imm(0, 5).reth(at(0), rkey(), 8).data(8).ack_req());
  expect(ack(0, 1));
  expect_received({done(1, IBV_WC_RECV_RDMA_WITH_IMM).len(8).imm(5)});
  inject(write_only_imm(0, 5).reth(at(0), rkey(), 8).data(8).ack_req());
  expect(ack(0, 1));
}

RULE_CASE("R2", duplicate_inside_an_open_message_does_not_disturb_it) {
  connect();
  recv(1, 0, 1000);
  inject(send_first(0).data(256, 1));
  inject(send_middle(1).data(256, 2));
  inject(send_first(0).data(256, 9).ack_req());
  expect(ack(1, 0));
  inject(send_last(2).data(7, 3).ack_req());
  expect(ack(2, 1));
  expect_received({received(1, 519)});
  expect_memory(512, pattern(7, 3));
  expect_that(memory(0, 256) == pattern(256, 1), "the first packet's bytes are the original ones");
}

RULE_CASE("R2", duplicate_with_another_opcode_is_still_a_duplicate) {
  connect();
  inject(write_only(0).reth(at(0), rkey(), 8).data(8).ack_req());
  expect(ack(0, 1));
  inject(send_only(0).data(8).ack_req());
  expect(ack(0, 1));
}

RULE_CASE("R2", duplicate_without_a_right_is_acknowledged_all_the_same) {
  connect();
  inject(write_only(0).reth(at(0), rkey(), 8).data(8).ack_req());
  expect(ack(0, 1));
  inject(write_only(0).reth(at(0), rkey() ^ 1, 8).data(8).ack_req());
  expect(ack(0, 1));
  expect_state(IBV_QPS_RTS);
}

RULE_CASE("R2", lost_ack_many_duplicates_one_ack_for_the_burst) {
  connect();
  inject({write_only(0).reth(at(0), rkey(), 0), write_only(1).reth(at(0), rkey(), 0),
          write_only(2).reth(at(0), rkey(), 0).ack_req()});
  expect(ack(2, 3));
  inject({write_only(0).reth(at(0), rkey(), 0), write_only(1).reth(at(0), rkey(), 0),
          write_only(2).reth(at(0), rkey(), 0).ack_req()});
  expect(ack(2, 3));
  expect_counter(&QpCounters::duplicate_requests, 3);
}

}  // namespace roce::script
