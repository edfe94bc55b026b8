// What the RC requester makes of acknowledgements, NAKs and silence.
// SPDX-License-Identifier: BSD-3-Clause
#include "script/registry.h"

namespace roce::script {
namespace {

constexpr uint64_t kVa = Script::kPeerVa;
constexpr uint32_t kRkey = Script::kPeerRkey;

/// 4.096 us * 2^code.
constexpr Duration ack_timeout(int code) {
  return ns(int64_t{4096} << code);
}

}  // namespace

RULE_CASE("Q1 E1", ack_completes_a_send) {
  connect();
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  inject(ack(0, 1));
  expect_sent({done(1, IBV_WC_SEND)});
}

RULE_CASE("Q1 E1", one_ack_completes_several_in_order) {
  connect();
  post({wr_send(1).from(0, 8), wr_write(2).from(8, 8).remote(kVa, kRkey), wr_send(3).from(16, 8)});
  expect({send_only(0).bytes(memory(0, 8)).ack_req(),
          write_only(1).reth(kVa, kRkey, 8).bytes(memory(8, 8)).ack_req(),
          send_only(2).bytes(memory(16, 8)).ack_req()});
  inject(ack(2, 3));
  expect_sent({done(1, IBV_WC_SEND), done(2, IBV_WC_RDMA_WRITE), done(3, IBV_WC_SEND)});
}

RULE_CASE("Q1", ack_in_the_middle_of_a_message_completes_what_is_before_it) {
  connect();
  post({wr_send(1).from(0, 8), wr_send(2).from(0, 600)});
  expect({send_only(0).bytes(memory(0, 8)).ack_req(), send_first(1).bytes(memory(0, 256)),
          send_middle(2).bytes(memory(256, 256)), send_last(3).bytes(memory(512, 88)).ack_req()});
  inject(ack(1, 1));
  expect_sent({done(1, IBV_WC_SEND)});
  inject(ack(3, 2));
  expect_sent({done(2, IBV_WC_SEND)});
}

RULE_CASE("Q1 E5", ack_past_a_read_is_an_implied_nak) {
  connect();
  post({wr_read(1).from(0, 8).remote(kVa, kRkey), wr_send(2).from(8, 8)});
  expect(
      {read_request(0).reth(kVa, kRkey, 8).ack_req(), send_only(1).bytes(memory(8, 8)).ack_req()});
  inject(ack(1, 2));
  expect(
      {read_request(0).reth(kVa, kRkey, 8).ack_req(), send_only(1).bytes(memory(8, 8)).ack_req()});
  expect_counter(&QpCounters::implied_naks, 1);
  inject({read_only(0, 1).data(8), ack(1, 2)});
  expect_sent({done(1, IBV_WC_RDMA_READ), done(2, IBV_WC_SEND)});
  expect_memory(0, pattern(8));
}

RULE_CASE("Q1", ack_past_an_atomic_is_an_implied_nak) {
  connect();
  post({wr_fetch_add(1).from(0, 8).atomic(kVa, kRkey, 5), wr_send(2).from(8, 8)});
  const std::vector<Pkt> both = {fetch_add(0).atomic(kVa, kRkey, 5).ack_req(),
                                 send_only(1).bytes(memory(8, 8)).ack_req()};
  expect(both);
  inject(ack(1, 2));
  expect(both);
  inject({atomic_ack(0, 1, 99), ack(1, 2)});
  expect_sent({done(1, IBV_WC_FETCH_ADD), done(2, IBV_WC_SEND)});
  expect_that(word(0) == 99, "the value found is in memory");
}

RULE_CASE("Q1", second_ack_past_the_same_gap_does_not_resend_again) {
  connect();
  post({wr_read(1).from(0, 8).remote(kVa, kRkey), wr_send(2).from(8, 8)});
  const std::vector<Pkt> both = {read_request(0).reth(kVa, kRkey, 8).ack_req(),
                                 send_only(1).bytes(memory(8, 8)).ack_req()};
  expect(both);
  inject(ack(1, 2));
  expect(both);
  inject(ack(1, 2));
  expect_nothing();
}

RULE_CASE("Q1", read_response_acknowledges_earlier_sends) {
  connect();
  post({wr_send(1).from(0, 8), wr_read(2).from(8, 8).remote(kVa, kRkey)});
  expect(
      {send_only(0).bytes(memory(0, 8)).ack_req(), read_request(1).reth(kVa, kRkey, 8).ack_req()});
  inject(read_only(1, 2).data(8));
  expect_sent({done(1, IBV_WC_SEND), done(2, IBV_WC_RDMA_READ)});
}

RULE_CASE("Q1 E5", missing_read_response_in_the_middle) {
  connect();
  post(wr_read(1).from(0, 700).remote(kVa, kRkey));
  expect(read_request(0).reth(kVa, kRkey, 700).ack_req());
  inject({read_first(0, 1).data(256, 1), read_last(2, 1).data(188, 3)});
  expect(read_request(1).reth(kVa + 256, kRkey, 444).ack_req());
  inject({read_first(1, 1).data(256, 2), read_last(2, 1).data(188, 3)});
  expect_sent({done(1, IBV_WC_RDMA_READ).len(700)});
  expect_memory(512, pattern(188, 3));
  expect_that(memory(256, 256) == pattern(256, 2), "the missing part is there");
}

// --- Q2

RULE_CASE("Q2", ack_with_nothing_outstanding) {
  connect();
  inject(ack(0, 0));
  expect_drop(DropReason::ghost_response);
}

RULE_CASE("Q2", ack_of_what_is_acknowledged_already) {
  connect();
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  inject(ack(0, 1));
  expect_sent({done(1, IBV_WC_SEND)});
  inject(ack(0, 1));
  expect_drop(DropReason::ghost_response);
}

RULE_CASE("Q2", ack_of_what_has_not_been_sent) {
  connect();
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  inject(ack(1, 2));
  expect_drop(DropReason::ghost_response);
}

RULE_CASE("Q2", nak_for_what_is_not_outstanding) {
  connect();
  inject(nak_access(0, 0));
  expect_drop(DropReason::ghost_response);
  expect_state(IBV_QPS_RTS);
}

RULE_CASE("Q2", duplicate_read_response) {
  connect();
  post(wr_read(1).from(0, 8).remote(kVa, kRkey));
  expect(read_request(0).reth(kVa, kRkey, 8).ack_req());
  inject(read_only(0, 1).data(8));
  expect_sent({done(1, IBV_WC_RDMA_READ)});
  inject(read_only(0, 1).data(8, 5));
  expect_drop(DropReason::ghost_response);
  expect_memory(0, pattern(8));
}

RULE_CASE("Q2", duplicate_atomic_response) {
  connect();
  post(wr_fetch_add(1).from(0, 8).atomic(kVa, kRkey, 5));
  expect(fetch_add(0).atomic(kVa, kRkey, 5).ack_req());
  inject(atomic_ack(0, 1, 7));
  expect_sent({done(1, IBV_WC_FETCH_ADD)});
  inject(atomic_ack(0, 1, 8));
  expect_drop(DropReason::ghost_response);
  expect_that(word(0) == 7, "the first result stays");
}

// --- Q3

RULE_CASE("Q3 E6", sequence_nak_resends_from_its_psn) {
  connect();
  post({wr_send(1).from(0, 8), wr_send(2).from(8, 8), wr_send(3).from(16, 8)});
  expect({send_only(0).bytes(memory(0, 8)).ack_req(), send_only(1).bytes(memory(8, 8)).ack_req(),
          send_only(2).bytes(memory(16, 8)).ack_req()});
  inject(nak_sequence(1, 1));
  expect({send_only(1).bytes(memory(8, 8)).ack_req(), send_only(2).bytes(memory(16, 8)).ack_req()});
  expect_sent({done(1, IBV_WC_SEND)});
  expect_counter(&QpCounters::sequence_naks_rcvd, 1);
  expect_counter(&QpCounters::retransmitted, 2);
}

RULE_CASE("Q3", sequence_nak_in_the_middle_of_a_message) {
  connect();
  post(wr_write(1).from(0, 600).remote(kVa, kRkey));
  expect({write_first(0).reth(kVa, kRkey, 600).bytes(memory(0, 256)),
          write_middle(1).bytes(memory(256, 256)), write_last(2).bytes(memory(512, 88)).ack_req()});
  inject(nak_sequence(1, 0));
  expect({write_middle(1).bytes(memory(256, 256)), write_last(2).bytes(memory(512, 88)).ack_req()});
}

RULE_CASE("Q3", sequence_naks_use_up_the_retries) {
  connect({.retry_cnt = 2});
  post(wr_send(1).from(0, 8));
  const Pkt p = send_only(0).bytes(memory(0, 8)).ack_req();
  expect(p);
  inject(nak_sequence(0, 0));
  expect(p);
  inject(nak_sequence(0, 0));
  expect(p);
  inject(nak_sequence(0, 0));
  expect_sent({failed(1, IBV_WC_RETRY_EXC_ERR)});
  expect_state(IBV_QPS_ERR);
  expect_failure(2, PeerConduct::naks, 0, -1);
}

RULE_CASE("Q3", one_nak_among_the_retries_is_enough_to_know_that_the_peer_is_there) {
  connect({.retry_cnt = 1});
  post(wr_send(1).from(0, 8));
  const Pkt p = send_only(0).bytes(memory(0, 8)).ack_req();
  expect(p);
  inject(nak_sequence(0, 0));
  expect(p);
  advance(ack_timeout(14));
  expect_sent({failed(1, IBV_WC_RETRY_EXC_ERR)});
  expect_failure(1, PeerConduct::naks, 0, -1);
}

RULE_CASE("Q2 Q4", lost_read_responses_use_up_the_retries) {
  connect({.retry_cnt = 0});
  post({wr_read(1).from(0, 8).remote(kVa, kRkey), wr_send(2).from(8, 8)});
  expect(
      {read_request(0).reth(kVa, kRkey, 8).ack_req(), send_only(1).bytes(memory(8, 8)).ack_req()});
  inject(ack(1, 2));
  expect_sent({failed(1, IBV_WC_RETRY_EXC_ERR), flushed(2)});
  expect_failure(0, PeerConduct::drops, 1, -1);
}

RULE_CASE("Q3", two_sequence_naks_in_one_burst_count_once) {
  connect({.retry_cnt = 1});
  post(wr_send(1).from(0, 8));
  const Pkt p = send_only(0).bytes(memory(0, 8)).ack_req();
  expect(p);
  inject({nak_sequence(0, 0), nak_sequence(0, 0)});
  expect(p);
  expect_counter(&QpCounters::sequence_naks_rcvd, 1);
}

RULE_CASE("Q5", two_rnr_naks_in_one_burst_count_once) {
  connect({.rnr_retry = 1});
  post(wr_send(1).from(0, 8));
  const Pkt p = send_only(0).bytes(memory(0, 8)).ack_req();
  expect(p);
  inject({rnr_nak(0, 0, 1), rnr_nak(0, 0, 1)});
  advance(us(10));
  expect(p);
  expect_counter(&QpCounters::rnr_naks_rcvd, 1);
}

RULE_CASE("Q3 Q4", progress_gives_the_retries_back) {
  connect({.retry_cnt = 1});
  post({wr_send(1).from(0, 8), wr_send(2).from(8, 8)});
  const Pkt first = send_only(0).bytes(memory(0, 8)).ack_req();
  const Pkt second = send_only(1).bytes(memory(8, 8)).ack_req();
  expect({first, second});
  inject(nak_sequence(0, 0));
  expect({first, second});
  inject(nak_sequence(1, 1));
  expect(second);
  expect_sent({done(1, IBV_WC_SEND)});
  inject(nak_sequence(1, 1));
  expect_sent({failed(2, IBV_WC_RETRY_EXC_ERR)});
  expect_state(IBV_QPS_ERR);
  expect_failure(1, PeerConduct::naks, 1, 0);
}

// --- Q4

RULE_CASES(timeouts) {
  for (int code = 1; code < 32; ++code) {
    cases.add("Q4", "silence_with_timeout_code_" + std::to_string(code), [code](Script& s) {
      s.connect({.timeout = static_cast<uint8_t>(code), .retry_cnt = 1});
      s.post(wr_send(1).from(0, 8));
      const Pkt p = send_only(0).bytes(s.memory(0, 8)).ack_req();
      s.expect(p);
      s.advance(ack_timeout(code) - ns(1));
      s.expect_nothing();
      s.advance(ns(1));
      s.expect(p);
      s.advance(ack_timeout(code) - ns(1));
      s.expect_nothing();
      s.advance(ns(1));
      s.expect_sent({failed(1, IBV_WC_RETRY_EXC_ERR)});
      s.expect_state(IBV_QPS_ERR);
    });
  }
  for (int retries = 0; retries < 8; ++retries) {
    cases.add("Q4", "retry_cnt_of_" + std::to_string(retries), [retries](Script& s) {
      s.connect({.retry_cnt = static_cast<uint8_t>(retries)});
      s.post(wr_send(1).from(0, 8));
      const Pkt p = send_only(0).bytes(s.memory(0, 8)).ack_req();
      s.expect(p);
      for (int i = 0; i < retries; ++i) {
        s.advance(ack_timeout(14));
        s.expect(p);
      }
      s.advance(ack_timeout(14));
      s.expect_sent({failed(1, IBV_WC_RETRY_EXC_ERR)});
      s.expect_state(IBV_QPS_ERR);
      s.expect_counter(&QpCounters::timeouts, static_cast<uint64_t>(retries) + 1);
      s.expect_counter(&QpCounters::retry_exceeded, 1);
      s.expect_failure(static_cast<uint8_t>(retries), PeerConduct::silent, 0, -1);
    });
  }
}

RULE_CASE("Q4", timeout_0_waits_for_ever) {
  connect({.timeout = 0});
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  advance(ms(3'600'000));
  expect_nothing();
  inject(ack(0, 1));
  expect_sent({done(1, IBV_WC_SEND)});
}

RULE_CASE("Q4", progress_starts_the_timer_afresh) {
  connect();
  post({wr_send(1).from(0, 8), wr_send(2).from(8, 8)});
  const Pkt second = send_only(1).bytes(memory(8, 8)).ack_req();
  expect({send_only(0).bytes(memory(0, 8)).ack_req(), second});
  advance(ack_timeout(14) - us(1));
  inject(ack(0, 1));
  expect_sent({done(1, IBV_WC_SEND)});
  advance(ack_timeout(14) - ns(1));
  expect_nothing();
  advance(ns(1));
  expect(second);
}

RULE_CASE("Q4 Q2", ghosts_do_not_put_the_timer_off) {
  connect();
  post(wr_send(1).from(0, 8));
  const Pkt p = send_only(0).bytes(memory(0, 8)).ack_req();
  expect(p);
  advance(ack_timeout(14) - us(1));
  inject(ack(5, 1));
  expect_drop(DropReason::ghost_response);
  advance(us(1));
  expect(p);
}

RULE_CASE("Q4 E5", silence_in_the_middle_of_a_read_response) {
  connect();
  post(wr_read(1).from(0, 600).remote(kVa, kRkey));
  expect(read_request(0).reth(kVa, kRkey, 600).ack_req());
  inject(read_first(0, 1).data(256, 1));
  advance(ack_timeout(14));
  expect(read_request(1).reth(kVa + 256, kRkey, 344).ack_req());
  inject({read_first(1, 1).data(256, 2), read_last(2, 1).data(88, 3)});
  expect_sent({done(1, IBV_WC_RDMA_READ).len(600)});
}

RULE_CASE("Q4", nothing_outstanding_nothing_times_out) {
  connect({.retry_cnt = 0});
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  inject(ack(0, 1));
  expect_sent({done(1, IBV_WC_SEND)});
  advance(ms(10'000));
  expect_state(IBV_QPS_RTS);
}

}  // namespace roce::script
