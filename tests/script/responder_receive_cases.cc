// Receive requests of the RC responder: missing, too short, with bad memory, with a full CQ.
// SPDX-License-Identifier: BSD-3-Clause
#include "script/registry.h"

namespace roce::script {

RULE_CASE("R6 A7", send_without_a_receive) {
  connect();
  inject(send_only(0).data(8).ack_req());
  expect(rnr_nak(0, 0, 12));
  recv(1, 0, 16);
  inject(send_only(0).data(8).ack_req());
  expect(ack(0, 1));
  expect_received({received(1, 8)});
}

RULE_CASE("R6", first_packet_of_a_send_without_a_receive) {
  connect();
  inject(send_first(0).data(256));
  expect(rnr_nak(0, 0, 12));
  recv(1, 0, 1000);
  inject({send_first(0).data(256), send_last(1).data(4).ack_req()});
  expect(ack(1, 1));
  expect_received({received(1, 260)});
}

RULE_CASE("R6", write_with_immediate_without_a_receive) {
  connect();
  inject(write_only_imm(0, 1).reth(at(0), rkey(), 8).data(8));
  expect(rnr_nak(0, 0, 12));
  expect_memory_untouched();
  recv(1, 0, 0);
  inject(write_only_imm(0, 1).reth(at(0), rkey(), 8).data(8).ack_req());
  expect(ack(0, 1));
  expect_received({done(1, IBV_WC_RECV_RDMA_WITH_IMM).len(8).imm(1)});
}

RULE_CASE("R6", last_packet_of_a_write_with_immediate_without_a_receive) {
  connect();
  inject({write_first(0).reth(at(0), rkey(), 260).data(256), write_last_imm(1, 9).data(4)});
  expect(rnr_nak(1, 0, 12));
  recv(1, 0, 0);
  inject(write_last_imm(1, 9).data(4).ack_req());
  expect(ack(1, 1));
  expect_received({done(1, IBV_WC_RECV_RDMA_WITH_IMM).len(260).imm(9)});
}

RULE_CASE("R6", what_is_ahead_of_an_rnr_nak_is_dropped_without_another) {
  connect();
  inject({send_only(0).data(8).ack_req(), send_only(1).data(8).ack_req(),
          send_only(2).data(8).ack_req()});
  expect(rnr_nak(0, 0, 12));
  expect_drop(DropReason::rnr_wait, 2);
  inject(send_only(3).data(8).ack_req());
  expect_drop(DropReason::rnr_wait);
}

RULE_CASE("R6 R1", gap_after_the_receiver_has_become_ready_is_naked) {
  connect();
  inject(send_only(0).data(8));
  expect(rnr_nak(0, 0, 12));
  recv(1, 0, 8);
  inject(send_only(0).data(8));
  expect_received({received(1, 8)});
  inject(send_only(2).data(8));
  expect(nak_sequence(1, 1));
  expect_drop(DropReason::out_of_sequence);
}

RULE_CASE("R6", each_try_gets_an_rnr_nak) {
  connect();
  for (int i = 0; i < 5; ++i) {
    inject(send_only(0).data(8));
    expect(rnr_nak(0, 0, 12));
  }
  expect_counter(&QpCounters::rnr_naks_sent, 5);
}

RULE_CASE("R6 R2", duplicate_while_the_receiver_is_not_ready) {
  connect();
  inject(write_only(0).reth(at(0), rkey(), 0));
  inject(send_only(1).data(8));
  expect(rnr_nak(1, 1, 12));
  inject(write_only(0).reth(at(0), rkey(), 0));
  expect(ack(0, 1));
}

RULE_CASE("R6 A2", rnr_nak_acknowledges_what_is_before_it) {
  connect();
  inject({write_only(0).reth(at(0), rkey(), 0).ack_req(), send_only(1).data(8)});
  expect(rnr_nak(1, 1, 12));
}

RULE_CASES(rnr_timer_codes_sent) {
  for (int code = 0; code < 32; ++code) {
    const auto timer = static_cast<uint8_t>(code);
    cases.add("P9 R6", "rnr_nak_sent_with_timer_code_" + std::to_string(code), [timer](Script& s) {
      s.connect({.min_rnr_timer = timer});
      s.inject(send_only(0).data(8));
      s.expect(acknowledge(0, 0, static_cast<uint8_t>(0x20 + timer)));
    });
  }
}

// --- R12, R13: the receive buffer

RULE_CASE("R12", message_longer_than_the_receive_buffer) {
  connect();
  recv(1, 0, 7);
  recv(2, 0, 100);
  inject(send_only(0).data(8));
  expect(nak_invalid(0, 0));
  expect_received({failed(1, IBV_WC_LOC_LEN_ERR).vendor(0x61), flushed(2)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("R12", message_that_outgrows_the_receive_buffer_in_its_second_packet) {
  connect();
  recv(1, 0, 300);
  inject({send_first(0).data(256), send_last(1).data(45)});
  expect(nak_invalid(1, 0));
  expect_received({failed(1, IBV_WC_LOC_LEN_ERR)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("R12", message_exactly_as_long_as_the_receive_buffer) {
  connect();
  recv(1, 0, 300);
  inject({send_first(0).data(256), send_last(1).data(44).ack_req()});
  expect(ack(1, 1));
  expect_received({received(1, 300)});
}

RULE_CASE("R12", empty_send_into_an_empty_receive) {
  connect();
  recv(1, 0, 0);
  inject(send_only(0).ack_req());
  expect(ack(0, 1));
  expect_received({received(1, 0)});
}

RULE_CASE("R13", receive_with_a_wrong_key) {
  connect();
  recv_bad_key(1, 0, 100);
  recv(2, 0, 100);
  inject(send_only(0).data(8));
  expect(nak_operational(0, 0));
  expect_received({failed(1, IBV_WC_LOC_PROT_ERR).vendor(0x63), flushed(2)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("R13", receive_that_leaves_its_region) {
  connect();
  recv(1, kMemory - 4, 8);
  inject(send_only(0).data(8));
  expect(nak_operational(0, 0));
  expect_received({failed(1, IBV_WC_LOC_PROT_ERR)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("R13", receive_whose_end_leaves_its_region_is_all_right_if_unused) {
  connect();
  recv(1, kMemory - 4, 8);
  inject(send_only(0).data(4).ack_req());
  expect(ack(0, 1));
  expect_received({received(1, 4)});
}

RULE_CASE("R13", receive_into_memory_without_local_write) {
  connect({.mr_access = IBV_ACCESS_REMOTE_READ});
  recv(1, 0, 100);
  inject(send_only(0).data(8));
  expect(nak_operational(0, 0));
  expect_received({failed(1, IBV_WC_LOC_PROT_ERR)});
  expect_state(IBV_QPS_ERR);
  expect_memory_untouched();
}

RULE_CASE("R13", wrong_key_of_a_receive_does_not_matter_to_an_empty_message) {
  connect();
  recv_bad_key(1, 0, 100);
  inject(send_only(0).ack_req());
  expect(ack(0, 1));
  expect_received({received(1, 0)});
}

// --- R14

RULE_CASE("R14", write_of_nothing) {
  connect();
  inject(write_only(0).reth(1, 2, 0).ack_req());
  expect(ack(0, 1));
}

RULE_CASE("R14", read_of_nothing) {
  connect();
  inject(read_request(0).reth(~uint64_t{0}, 2, 0));
  expect(read_only(0, 1));
}

RULE_CASE("R14 A9", write_of_nothing_with_immediate) {
  connect();
  recv(1, 0, 0);
  inject(write_only_imm(0, 3).reth(1, 2, 0).ack_req());
  expect(ack(0, 1));
  expect_received({done(1, IBV_WC_RECV_RDMA_WITH_IMM).len(0).imm(3)});
}

RULE_CASE("R14 R8", write_of_nothing_needs_the_right_on_the_queue_pair_all_the_same) {
  connect({.access = 0});
  inject(write_only(0).reth(1, 2, 0).ack_req());
  expect_refused(nak_invalid(0, 0));
}

// --- R16

RULE_CASE("R16 C4", receive_cq_full) {
  connect({.recv_cqes = 2});
  hold_completions(true);
  for (int i = 0; i < 4; ++i) {
    recv(uint64_t(i), 0, 8);
  }
  for (int i = 0; i < 2; ++i) {
    inject(send_only(i).data(8).ack_req());
    expect(ack(i, uint32_t(i) + 1));
  }
  inject(send_only(2).data(8).ack_req());
  expect_events({IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL});
  expect_state(IBV_QPS_ERR);
  hold_completions(false);
  expect_received({received(0, 8), received(1, 8)});
}

RULE_CASE("C4", receive_cq_of_n_entries_holds_n) {
  connect({.recv_cqes = 5});
  hold_completions(true);
  for (int i = 0; i < 5; ++i) {
    recv(uint64_t(i), 0, 8);
    inject(send_only(i).data(8));
  }
  hold_completions(false);
  expect_received({received(0, 8), received(1, 8), received(2, 8), received(3, 8), received(4, 8)});
}

}  // namespace roce::script
