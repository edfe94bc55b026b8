// Errors that end the RC requester's work, and what becomes of the rest.
// SPDX-License-Identifier: BSD-3-Clause
#include "script/registry.h"

namespace roce::script {
namespace {

constexpr uint64_t kVa = Script::kPeerVa;
constexpr uint32_t kRkey = Script::kPeerRkey;

/// A READ of `length` bytes is under way.
void start_read(Script& s, uint32_t length) {
  s.connect();
  s.post(wr_read(1).from(0, length).remote(kVa, kRkey));
  s.expect(read_request(0).reth(kVa, kRkey, length).ack_req());
}

void expect_bad_response(Script& s) {
  s.expect_sent({failed(1, IBV_WC_BAD_RESP_ERR)});
  s.expect_state(IBV_QPS_ERR);
}

}  // namespace

// --- Q5

RULE_CASE("Q5", rnr_retries_run_out) {
  connect({.rnr_retry = 2});
  post({wr_send(1).from(0, 8), wr_send(2).from(0, 8)});
  const std::vector<Pkt> both = {send_only(0).bytes(memory(0, 8)).ack_req(),
                                 send_only(1).bytes(memory(0, 8)).ack_req()};
  expect(both);
  for (int i = 0; i < 2; ++i) {
    inject(rnr_nak(0, 0, 1));
    advance(us(10));
    expect(both);
  }
  inject(rnr_nak(0, 0, 1));
  expect_sent({failed(1, IBV_WC_RNR_RETRY_EXC_ERR).vendor(0x21), flushed(2)});
  expect_state(IBV_QPS_ERR);
  expect_counter(&QpCounters::rnr_retry_exceeded, 1);
}

RULE_CASE("Q5", rnr_retry_0_gives_up_at_once) {
  connect({.rnr_retry = 0});
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  inject(rnr_nak(0, 0, 1));
  expect_sent({failed(1, IBV_WC_RNR_RETRY_EXC_ERR)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("Q5", rnr_retry_7_never_gives_up) {
  connect({.rnr_retry = 7});
  post(wr_send(1).from(0, 8));
  const Pkt p = send_only(0).bytes(memory(0, 8)).ack_req();
  expect(p);
  for (int i = 0; i < 100; ++i) {
    inject(rnr_nak(0, 0, 1));
    advance(us(10));
    expect(p);
  }
  inject(ack(0, 1));
  expect_sent({done(1, IBV_WC_SEND)});
}

RULE_CASE("Q5 Q1", rnr_nak_completes_what_is_before_it) {
  connect();
  post({wr_send(1).from(0, 8), wr_send(2).from(8, 8)});
  const Pkt second = send_only(1).bytes(memory(8, 8)).ack_req();
  expect({send_only(0).bytes(memory(0, 8)).ack_req(), second});
  inject(rnr_nak(1, 1, 1));
  expect_sent({done(1, IBV_WC_SEND)});
  advance(us(10));
  expect(second);
}

RULE_CASE("Q5", progress_gives_the_rnr_retries_back) {
  connect({.rnr_retry = 1});
  post({wr_send(1).from(0, 8), wr_send(2).from(8, 8)});
  const Pkt first = send_only(0).bytes(memory(0, 8)).ack_req();
  const Pkt second = send_only(1).bytes(memory(8, 8)).ack_req();
  expect({first, second});
  inject(rnr_nak(0, 0, 1));
  advance(us(10));
  expect({first, second});
  inject(rnr_nak(1, 1, 1));
  expect_sent({done(1, IBV_WC_SEND)});
  advance(us(10));
  expect(second);
}

RULE_CASE("E8 Q5", retransmission_timer_stands_still_during_an_rnr_wait) {
  connect({.timeout = 1, .retry_cnt = 0});
  post(wr_send(1).from(0, 8));
  const Pkt p = send_only(0).bytes(memory(0, 8)).ack_req();
  expect(p);
  inject(rnr_nak(0, 0, 0));
  advance(us(655360) - ns(1));
  expect_nothing();
  advance(ns(1));
  expect(p);
  expect_counter(&QpCounters::timeouts, 0);
}

RULE_CASE("E8", nothing_new_is_sent_during_an_rnr_wait) {
  connect();
  post(wr_send(1).from(0, 8));
  const Pkt p = send_only(0).bytes(memory(0, 8)).ack_req();
  expect(p);
  inject(rnr_nak(0, 0, 10));
  post(wr_send(2).from(8, 8));
  advance(us(320) - ns(1));
  expect_nothing();
  advance(ns(1));
  expect({p, send_only(1).bytes(memory(8, 8)).ack_req()});
}

RULE_CASE("E8 E10", ack_during_an_rnr_wait_ends_it) {
  connect();
  post({wr_send(1).from(0, 8), wr_send(2).from(8, 8)});
  const Pkt second = send_only(1).bytes(memory(8, 8)).ack_req();
  expect({send_only(0).bytes(memory(0, 8)).ack_req(), second});
  inject(rnr_nak(0, 0, 10));
  inject(ack(0, 1));
  expect_sent({done(1, IBV_WC_SEND)});
  expect(second);
}

// --- Q6

RULE_CASE("Q6 Q1", fatal_nak_acknowledges_what_is_before_it) {
  connect();
  post({wr_send(1).from(0, 8), wr_write(2).from(8, 8).remote(kVa, kRkey), wr_send(3).from(0, 8)});
  expect({send_only(0).bytes(memory(0, 8)).ack_req(),
          write_only(1).reth(kVa, kRkey, 8).bytes(memory(8, 8)).ack_req(),
          send_only(2).bytes(memory(0, 8)).ack_req()});
  inject(nak_access(1, 1));
  expect_sent({done(1, IBV_WC_SEND), failed(2, IBV_WC_REM_ACCESS_ERR).vendor(0x62), flushed(3)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("Q6", fatal_nak_to_a_read_request) {
  start_read(*this, 600);
  inject(nak_access(0, 0));
  expect_sent({failed(1, IBV_WC_REM_ACCESS_ERR)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("Q6", fatal_nak_in_place_of_a_read_response) {
  start_read(*this, 600);
  inject({read_first(0, 1).data(256), nak_access(1, 1)});
  expect_sent({failed(1, IBV_WC_REM_ACCESS_ERR)});
  expect_state(IBV_QPS_ERR);
  expect_memory(0, pattern(256));
}

RULE_CASE("Q6", fatal_nak_to_an_atomic) {
  connect();
  post(wr_cmp_swap(1).from(0, 8).atomic(kVa, kRkey, 1, 2));
  expect(cmp_swap(0).atomic(kVa, kRkey, 2, 1).ack_req());
  inject(nak_invalid(0, 0));
  expect_sent({failed(1, IBV_WC_REM_INV_REQ_ERR)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("Q6 Q1", fatal_nak_behind_a_lost_read_response_is_an_implied_nak) {
  connect();
  post({wr_read(1).from(0, 8).remote(kVa, kRkey), wr_write(2).from(8, 8).remote(kVa, kRkey)});
  const std::vector<Pkt> both = {read_request(0).reth(kVa, kRkey, 8).ack_req(),
                                 write_only(1).reth(kVa, kRkey, 8).bytes(memory(8, 8)).ack_req()};
  expect(both);
  inject(nak_access(1, 1));
  expect(both);
  inject({read_only(0, 1).data(8), nak_access(1, 1)});
  expect_sent({done(1, IBV_WC_RDMA_READ), failed(2, IBV_WC_REM_ACCESS_ERR)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASES(responses_that_do_not_fit) {
  struct Row {
    const char* name;
    uint32_t length;
    Pkt response;
  };
  const Row rows[] = {{"read_only_to_a_read_of_two_packets", 300, read_only(0, 1).data(256)},
                      {"read_last_to_the_first_of_two_packets", 300, read_last(0, 1).data(256)},
                      {"read_middle_to_the_first_of_two_packets", 300, read_middle(0).data(256)},
                      {"read_first_to_a_read_of_one_packet", 8, read_first(0, 1).data(8)},
                      {"read_middle_to_a_read_of_one_packet", 8, read_middle(0).data(8)},
                      {"read_last_to_a_read_of_one_packet", 8, read_last(0, 1).data(8)},
                      {"read_only_that_is_too_short", 8, read_only(0, 1).data(7)},
                      {"read_only_with_a_pad_too_many", 8, read_only(0, 1).data(8).pad(1)},
                      {"read_only_that_is_too_long", 8, read_only(0, 1).data(9)},
                      {"read_only_without_payload", 8, read_only(0, 1)},
                      {"read_only_with_payload_to_a_read_of_nothing", 0, read_only(0, 1).data(4)},
                      {"read_first_that_is_too_short", 300, read_first(0, 1).data(255)},
                      {"read_first_that_is_too_long", 600, read_first(0, 1).data(257)},
                      {"atomic_response_to_a_read", 8, atomic_ack(0, 1, 1)}};
  for (const Row& row : rows) {
    cases.add("Q7", row.name, [row](Script& s) {
      start_read(s, row.length);
      s.inject(row.response);
      expect_bad_response(s);
      s.expect_memory_untouched();
    });
  }
  const Row later[] = {{"read_middle_that_is_too_short", 600, read_middle(1).data(255)},
                       {"read_middle_that_is_too_long", 600, read_middle(1).data(257)},
                       {"read_middle_as_the_last", 300, read_middle(1).data(44)},
                       {"read_last_that_is_too_short", 300, read_last(1, 1).data(43)},
                       {"read_last_that_is_too_long", 300, read_last(1, 1).data(45)},
                       {"read_last_in_the_middle", 600, read_last(1, 1).data(256)},
                       {"atomic_response_in_the_middle_of_a_read", 600, atomic_ack(1, 1, 1)}};
  for (const Row& row : later) {
    cases.add("Q7", row.name, [row](Script& s) {
      start_read(s, row.length);
      s.inject(read_first(0, 1).data(256));
      s.inject(row.response);
      expect_bad_response(s);
      s.expect_memory(0, pattern(256));
    });
  }
  const Row to_send[] = {{"read_response_to_a_send", 0, read_only(0, 1).data(8)},
                         {"atomic_response_to_a_send", 0, atomic_ack(0, 1, 1)},
                         {"ack_with_payload", 0, ack(0, 1).data(4)},
                         {"ack_with_a_pad", 0, ack(0, 1).pad(2)}};
  for (const Row& row : to_send) {
    cases.add("Q7", row.name, [row](Script& s) {
      s.connect();
      s.post(wr_send(1).from(0, 8));
      s.expect(send_only(0).bytes(s.memory(0, 8)).ack_req());
      s.inject(row.response);
      expect_bad_response(s);
    });
  }
}

RULE_CASE("Q7", read_response_to_the_middle_of_a_send) {
  connect();
  post(wr_send(1).from(0, 600));
  expect_that(forget_sent() == 3, "three packets leave");
  inject(read_only(1, 1).data(8));
  expect_bad_response(*this);
}

RULE_CASE("Q7", read_response_to_an_atomic) {
  connect();
  post(wr_fetch_add(1).from(0, 8).atomic(kVa, kRkey, 1));
  expect(fetch_add(0).atomic(kVa, kRkey, 1).ack_req());
  inject(read_only(0, 1).data(8));
  expect_bad_response(*this);
  expect_memory_untouched();
}

RULE_CASE("Q7", atomic_response_with_payload) {
  connect();
  post(wr_fetch_add(1).from(0, 8).atomic(kVa, kRkey, 1));
  expect(fetch_add(0).atomic(kVa, kRkey, 1).ack_req());
  inject(atomic_ack(0, 1, 3).data(4));
  expect_bad_response(*this);
  expect_memory_untouched();
}

// --- Q8, E9

RULE_CASE("Q8", read_into_memory_with_a_wrong_key) {
  connect();
  post(wr_read(1).from_bad_key(0, 8).remote(kVa, kRkey));
  expect(read_request(0).reth(kVa, kRkey, 8).ack_req());
  inject(read_only(0, 1).data(8));
  expect_sent({failed(1, IBV_WC_LOC_PROT_ERR)});
  expect_state(IBV_QPS_ERR);
  expect_memory_untouched();
}

RULE_CASE("Q8", read_into_memory_without_local_write) {
  connect({.mr_access = IBV_ACCESS_REMOTE_READ});
  post(wr_read(1).from(0, 8).remote(kVa, kRkey));
  expect(read_request(0).reth(kVa, kRkey, 8).ack_req());
  inject(read_only(0, 1).data(8));
  expect_sent({failed(1, IBV_WC_LOC_PROT_ERR)});
  expect_state(IBV_QPS_ERR);
  expect_memory_untouched();
}

RULE_CASE("Q8", atomic_into_memory_that_is_gone) {
  connect();
  post(wr_fetch_add(1).from(0, 8).atomic(kVa, kRkey, 1));
  expect(fetch_add(0).atomic(kVa, kRkey, 1).ack_req());
  deregister_memory();
  inject(atomic_ack(0, 1, 5));
  expect_sent({failed(1, IBV_WC_LOC_PROT_ERR)});
  expect_state(IBV_QPS_ERR);
  expect_memory_untouched();
}

RULE_CASE("E9 E1", request_with_a_wrong_key_fails_after_what_is_before_it) {
  connect();
  post({wr_send(1).from(0, 8), wr_send(2).from_bad_key(8, 8), wr_send(3).from(16, 8)});
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  inject(ack(0, 1));
  expect_sent({done(1, IBV_WC_SEND), failed(2, IBV_WC_LOC_PROT_ERR), flushed(3)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("E9 Q4", request_with_a_wrong_key_leaves_the_resending_before_it_alone) {
  connect();
  post(wr_send(1).from(0, 300));
  expect({send_first(0).bytes(memory(0, 256)), send_last(1).bytes(memory(256, 44)).ack_req()});
  inject(ack(0, 0));
  post(wr_send(2).from(1000, 8).from_bad_key(8, 8));
  expect_nothing();
  advance(ms(68));
  expect(send_last(1).bytes(memory(256, 44)).ack_req());
  inject(ack(1, 1));
  expect_sent({done(1, IBV_WC_SEND), failed(2, IBV_WC_LOC_PROT_ERR)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("E9", request_whose_second_packet_is_outside_of_its_region) {
  connect();
  post(wr_send(1).from(kMemory - 256, 300));
  expect(send_first(0).bytes(memory(kMemory - 256, 256)));
  expect_sent({failed(1, IBV_WC_LOC_PROT_ERR)});
  expect_state(IBV_QPS_ERR);
}

// --- Q10

RULE_CASE("Q10 C4", send_cq_full) {
  connect({.send_cqes = 2});
  hold_completions(true);
  post({wr_send(1).from(0, 8), wr_send(2).from(0, 8), wr_send(3).from(0, 8)});
  const Bytes eight = memory(0, 8);
  expect({send_only(0).bytes(eight).ack_req(), send_only(1).bytes(eight).ack_req(),
          send_only(2).bytes(eight).ack_req()});
  inject(ack(2, 3));
  expect_events({IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL});
  expect_state(IBV_QPS_ERR);
  hold_completions(false);
  expect_sent({done(1, IBV_WC_SEND), done(2, IBV_WC_SEND)});
}

// --- Q11

RULE_CASE("Q11", everything_posted_is_flushed_in_order) {
  connect({.signal_all = false});
  recv(10, 0, 8);
  recv(11, 0, 8);
  post({wr_send(1).from(0, 8), wr_send(2).from(0, 8), wr_read(3).from(0, 8).remote(kVa, kRkey),
        wr_send(4).from(0, 8).fence()});
  const Bytes eight = memory(0, 8);
  expect({send_only(0).bytes(eight).ack_req(), send_only(1).bytes(eight).ack_req(),
          read_request(2).reth(kVa, kRkey, 8).ack_req()});
  move_to(IBV_QPS_ERR);
  expect_sent({flushed(1), flushed(2), flushed(3), flushed(4)});
  expect_received({flushed(10), flushed(11)});
}

RULE_CASE("Q11 T15", what_is_posted_in_error_is_flushed) {
  connect();
  move_to(IBV_QPS_ERR);
  post(wr_send(1).from(0, 8));
  expect_sent({flushed(1)});
  recv(2, 0, 8);
  expect_received({flushed(2)});
}

RULE_CASE("Q11 E1", unsignalled_request_that_fails_is_reported) {
  connect({.signal_all = false});
  post({wr_send(1).from(0, 8), wr_send(2).from(0, 8)});
  const Bytes eight = memory(0, 8);
  expect({send_only(0).bytes(eight).ack_req(), send_only(1).bytes(eight).ack_req()});
  inject(nak_invalid(1, 1));
  expect_sent({failed(2, IBV_WC_REM_INV_REQ_ERR)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("Q11 S19", acks_after_the_error_are_dropped) {
  connect();
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  move_to(IBV_QPS_ERR);
  expect_sent({flushed(1)});
  inject(ack(0, 1));
  expect_drop(DropReason::qp_state);
}

RULE_CASE("Q11 R11", error_of_the_responder_flushes_the_requester) {
  connect();
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  inject(write_only(0).reth(at(0), rkey() ^ 1, 4).data(4));
  expect_refused(nak_access(0, 0));
  expect_sent({flushed(1)});
}

}  // namespace roce::script
