// What the RC requester sends: fences, limits, windows, resending, lists, inline data.
// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>

#include "script/registry.h"

namespace roce::script {
namespace {

constexpr uint64_t kVa = Script::kPeerVa;
constexpr uint32_t kRkey = Script::kPeerRkey;

}  // namespace

// --- E1 to E4

RULE_CASE("E1", only_signalled_requests_complete_visibly) {
  connect({.signal_all = false});
  post({wr_send(1).from(0, 8), wr_send(2).from(0, 8).signaled(), wr_send(3).from(0, 8)});
  const Bytes eight = memory(0, 8);
  expect({send_only(0).bytes(eight).ack_req(), send_only(1).bytes(eight).ack_req(),
          send_only(2).bytes(eight).ack_req()});
  inject(ack(2, 3));
  expect_sent({done(2, IBV_WC_SEND)});
}

RULE_CASE("E1", send_behind_a_read_completes_after_it) {
  connect();
  post({wr_read(1).from(0, 300).remote(kVa, kRkey), wr_send(2).from(0, 8)});
  expect({read_request(0).reth(kVa, kRkey, 300).ack_req(),
          send_only(2).bytes(memory(0, 8)).ack_req()});
  inject({read_first(0, 1).data(256), read_last(1, 1).data(44)});
  expect_sent({done(1, IBV_WC_RDMA_READ).len(300)});
  inject(ack(2, 2));
  expect_sent({done(2, IBV_WC_SEND)});
}

RULE_CASE("E3", fence_waits_for_a_read) {
  connect();
  post({wr_read(1).from(0, 8).remote(kVa, kRkey), wr_send(2).from(0, 8).fence()});
  expect(read_request(0).reth(kVa, kRkey, 8).ack_req());
  inject(read_only(0, 1).data(8));
  expect_sent({done(1, IBV_WC_RDMA_READ)});
  expect(send_only(1).data(8).ack_req());
}

RULE_CASE("E3", fence_waits_for_an_atomic) {
  connect();
  post({wr_fetch_add(1).from(0, 8).atomic(kVa, kRkey, 1),
        wr_write(2).from(8, 8).remote(kVa, kRkey).fence()});
  expect(fetch_add(0).atomic(kVa, kRkey, 1).ack_req());
  inject(atomic_ack(0, 1, 0));
  expect_sent({done(1, IBV_WC_FETCH_ADD)});
  expect(write_only(1).reth(kVa, kRkey, 8).bytes(memory(8, 8)).ack_req());
}

RULE_CASE("E3", fence_does_not_wait_for_sends_and_writes) {
  connect();
  post({wr_send(1).from(0, 8), wr_write(2).from(0, 8).remote(kVa, kRkey),
        wr_send(3).from(0, 8).fence()});
  const Bytes eight = memory(0, 8);
  expect({send_only(0).bytes(eight).ack_req(),
          write_only(1).reth(kVa, kRkey, 8).bytes(eight).ack_req(),
          send_only(2).bytes(eight).ack_req()});
}

RULE_CASE("E3", what_is_behind_a_fenced_request_waits_with_it) {
  connect();
  post({wr_read(1).from(0, 8).remote(kVa, kRkey), wr_send(2).from(8, 8).fence(),
        wr_send(3).from(16, 8)});
  expect(read_request(0).reth(kVa, kRkey, 8).ack_req());
  inject(read_only(0, 1).data(8));
  expect_sent({done(1, IBV_WC_RDMA_READ)});
  expect({send_only(1).bytes(memory(8, 8)).ack_req(), send_only(2).bytes(memory(16, 8)).ack_req()});
}

RULE_CASE("E3", fenced_read_waits_for_a_read) {
  connect();
  post(
      {wr_read(1).from(0, 8).remote(kVa, kRkey), wr_read(2).from(8, 8).remote(kVa, kRkey).fence()});
  expect(read_request(0).reth(kVa, kRkey, 8).ack_req());
  inject(read_only(0, 1).data(8));
  expect_sent({done(1, IBV_WC_RDMA_READ)});
  expect(read_request(1).reth(kVa, kRkey, 8).ack_req());
}

RULE_CASES(reads_in_flight) {
  for (const int limit : {1, 2, 4}) {
    cases.add("E4", "reads_in_flight_up_to_" + std::to_string(limit), [limit](Script& s) {
      s.connect({.rd_atomic = static_cast<uint8_t>(limit)});
      std::vector<Pkt> first;
      for (int i = 0; i <= limit; ++i) {
        s.post(wr_read(uint64_t(i)).from(0, 8).remote(kVa, kRkey));
        first.push_back(read_request(i).reth(kVa, kRkey, 8).ack_req());
        if (i < limit) {
          s.expect(first.back());
        }
      }
      s.expect_nothing();
      s.inject(read_only(0, 1).data(8));
      s.expect(first.back());
      s.expect_sent({done(0, IBV_WC_RDMA_READ)});
    });
  }
}

RULE_CASE("E4", reads_and_atomics_count_together) {
  connect({.rd_atomic = 1});
  post(
      {wr_fetch_add(1).from(0, 8).atomic(kVa, kRkey, 1), wr_read(2).from(8, 8).remote(kVa, kRkey)});
  expect(fetch_add(0).atomic(kVa, kRkey, 1).ack_req());
  inject(atomic_ack(0, 1, 0));
  expect_sent({done(1, IBV_WC_FETCH_ADD)});
  expect(read_request(1).reth(kVa, kRkey, 8).ack_req());
}

RULE_CASE("E4", send_behind_a_waiting_read_waits) {
  connect({.rd_atomic = 1});
  post({wr_read(1).from(0, 8).remote(kVa, kRkey), wr_read(2).from(8, 8).remote(kVa, kRkey),
        wr_send(3).from(16, 8)});
  expect(read_request(0).reth(kVa, kRkey, 8).ack_req());
  inject(read_only(0, 1).data(8));
  expect_sent({done(1, IBV_WC_RDMA_READ)});
  expect(
      {read_request(1).reth(kVa, kRkey, 8).ack_req(), send_only(2).bytes(memory(16, 8)).ack_req()});
}

RULE_CASE("E4", limit_holds_after_going_back) {
  connect({.rd_atomic = 1});
  post({wr_read(1).from(0, 8).remote(kVa, kRkey), wr_read(2).from(8, 8).remote(kVa, kRkey)});
  expect(read_request(0).reth(kVa, kRkey, 8).ack_req());
  inject(nak_sequence(0, 0));
  expect(read_request(0).reth(kVa, kRkey, 8).ack_req());
}

// --- E6, E7, E10

RULE_CASE("E6 V3", inline_data_is_not_read_again) {
  connect();
  const Bytes before = memory(0, 8);
  post(wr_send(1).from(0, 8).inlined());
  expect(send_only(0).bytes(before).ack_req());
  set_memory(0, pattern(8, 77));
  inject(nak_sequence(0, 0));
  expect(send_only(0).bytes(before).ack_req());
}

RULE_CASE("E6 P7 P11", resent_packet_keeps_flags_and_immediate) {
  connect();
  post(wr_send_imm(1).from(0, 8).imm(0x01020304).solicited());
  const Pkt p = send_only_imm(0, 0x01020304).bytes(memory(0, 8)).solicited().ack_req();
  expect(p);
  inject(nak_sequence(0, 0));
  expect(p);
}

RULE_CASE("E6", resent_atomic_is_the_same) {
  connect();
  post(wr_cmp_swap(1).from(0, 8).atomic(kVa, kRkey, 0x1111, 0x2222));
  const Pkt p = cmp_swap(0).atomic(kVa, kRkey, 0x2222, 0x1111).ack_req();
  expect(p);
  advance(ns(4096 << 14));
  expect(p);
}

RULE_CASE("E7", window_closes_and_opens_again) {
  connect({.window = 4});
  for (uint64_t i = 0; i < 6; ++i) {
    post(wr_send(i).from(0, 8));
    if (i < 4) {
      expect(send_only(int32_t(i)).bytes(memory(0, 8)).ack_req());
    }
  }
  expect_nothing();
  inject(ack(0, 1));
  expect(send_only(4).bytes(memory(0, 8)).ack_req());
  expect_sent({done(0, IBV_WC_SEND)});
  inject(ack(4, 5));
  expect(send_only(5).bytes(memory(0, 8)).ack_req());
  expect_sent(
      {done(1, IBV_WC_SEND), done(2, IBV_WC_SEND), done(3, IBV_WC_SEND), done(4, IBV_WC_SEND)});
}

RULE_CASE("E7", message_larger_than_the_window_asks_for_acks) {
  connect({.window = 2});
  post(wr_write(1).from(0, 256 * 3).remote(kVa, kRkey));
  expect({write_first(0).reth(kVa, kRkey, 768).bytes(memory(0, 256)).ack_req(),
          write_middle(1).bytes(memory(256, 256)).ack_req()});
  inject(ack(1, 0));
  expect(write_last(2).bytes(memory(512, 256)).ack_req());
  inject(ack(2, 1));
  expect_sent({done(1, IBV_WC_RDMA_WRITE)});
}

RULE_CASE("E10", ack_for_what_is_about_to_be_resent) {
  connect();
  post({wr_send(1).from(0, 8), wr_send(2).from(8, 8)});
  expect({send_only(0).bytes(memory(0, 8)).ack_req(), send_only(1).bytes(memory(8, 8)).ack_req()});
  refuse_frames(true);
  inject(nak_sequence(0, 0));
  inject(ack(1, 2));
  expect_sent({done(1, IBV_WC_SEND), done(2, IBV_WC_SEND)});
  refuse_frames(false);
  expect_that(forget_sent() <= 2, "nothing but what had been built is resent");
  expect_state(IBV_QPS_RTS);
}

// --- P6, P7

RULE_CASE("P6", reth_stands_on_the_first_packet_only) {
  connect();
  post(wr_write(1).from(0, 600).remote(kVa, kRkey));
  expect({write_first(0).reth(kVa, kRkey, 600).bytes(memory(0, 256)),
          write_middle(1).bytes(memory(256, 256)), write_last(2).bytes(memory(512, 88)).ack_req()});
}

RULE_CASE("P7", solicited_bit_on_the_last_packet) {
  connect();
  post(wr_send(1).from(0, 600).solicited());
  expect({send_first(0).bytes(memory(0, 256)), send_middle(1).bytes(memory(256, 256)),
          send_last(2).bytes(memory(512, 88)).solicited().ack_req()});
}

RULE_CASE("P7", solicited_write_with_immediate) {
  connect();
  post(wr_write_imm(1).from(0, 8).remote(kVa, kRkey).imm(5).solicited());
  expect(write_only_imm(0, 5).reth(kVa, kRkey, 8).bytes(memory(0, 8)).solicited().ack_req());
}

RULE_CASE("P7", write_without_immediate_is_never_solicited) {
  connect();
  post(wr_write(1).from(0, 8).remote(kVa, kRkey).solicited());
  expect(write_only(0).reth(kVa, kRkey, 8).bytes(memory(0, 8)).ack_req());
}

RULE_CASE("P8", read_takes_a_psn_for_each_response) {
  connect();
  post({wr_read(1).from(0, 600).remote(kVa, kRkey), wr_read(2).from(0, 0).remote(kVa, kRkey),
        wr_send(3).from(0, 0)});
  expect({read_request(0).reth(kVa, kRkey, 600).ack_req(),
          read_request(3).reth(kVa, kRkey, 0).ack_req(), send_only(4).ack_req()});
}

// --- V3, V8

RULE_CASE("V8", gathered_send) {
  connect();
  post(wr_send(1).from(100, 3).from(0, 0).from(200, 5));
  Bytes all = memory(100, 3);
  const Bytes rest = memory(200, 5);
  all.insert(all.end(), rest.begin(), rest.end());
  expect(send_only(0).bytes(all).ack_req());
}

RULE_CASE("V8", gathered_send_over_the_edges_of_packets) {
  connect();
  post(wr_send(1).from(0, 250).from(1000, 10).from(2000, 300));
  Bytes all = memory(0, 250);
  for (const Bytes& piece : {memory(1000, 10), memory(2000, 300)}) {
    all.insert(all.end(), piece.begin(), piece.end());
  }
  expect({send_first(0).bytes({all.begin(), all.begin() + 256}),
          send_middle(1).bytes({all.begin() + 256, all.begin() + 512}),
          send_last(2).bytes({all.begin() + 512, all.end()}).ack_req()});
}

RULE_CASE("V8", scattered_read) {
  connect();
  post(wr_read(1).from(100, 3).from(0, 0).from(200, 5).remote(kVa, kRkey));
  expect(read_request(0).reth(kVa, kRkey, 8).ack_req());
  inject(read_only(0, 1).data(8));
  expect_sent({done(1, IBV_WC_RDMA_READ).len(8)});
  const Bytes all = pattern(8);
  expect_memory(100, {all.begin(), all.begin() + 3});
  expect_memory(200, {all.begin() + 3, all.end()});
}

RULE_CASE("V3", inline_data_at_the_limit) {
  connect();
  post(wr_send(1).from(0, 64).inlined());
  expect(send_only(0).bytes(memory(0, 64)).ack_req());
}

RULE_CASE("V3", inline_key_is_not_looked_at) {
  connect();
  post(wr_write(1).from_bad_key(0, 16).remote(kVa, kRkey).inlined());
  expect(write_only(0).reth(kVa, kRkey, 16).bytes(memory(0, 16)).ack_req());
}

RULE_CASE("V3", inline_gather) {
  connect();
  post(wr_send(1).from(100, 3).from(200, 5).inlined());
  Bytes all = memory(100, 3);
  const Bytes rest = memory(200, 5);
  all.insert(all.end(), rest.begin(), rest.end());
  expect(send_only(0).bytes(all).ack_req());
}

RULE_CASE("V3", inline_data_beyond_the_limit) {
  connect();
  post_refused(wr_send(1).from(0, 65).inlined(), EINVAL, "max_inline_data");
}

RULE_CASE("V3", inline_read) {
  connect();
  post_refused(wr_read(1).from(0, 8).remote(kVa, kRkey).inlined(), EINVAL, "IBV_SEND_INLINE");
}

RULE_CASE("V3", inline_atomic) {
  connect();
  post_refused(wr_fetch_add(1).from(0, 8).atomic(kVa, kRkey, 1).inlined(), EINVAL,
               "IBV_SEND_INLINE");
}

}  // namespace roce::script
