// Selective recovery: a QP that keeps what comes too early, and one that sends again only what its
// peer misses.
// SPDX-License-Identifier: BSD-3-Clause
#include "script/registry.h"

namespace roce::script {
namespace {

constexpr uint64_t kVa = Script::kPeerVa;
constexpr uint32_t kRkey = Script::kPeerRkey;
constexpr Setup kSelective{.held = 64};

Pkt write_at(Script& s, int32_t psn) {
  const auto offset = static_cast<size_t>(psn) * 8;
  return write_only(psn).reth(s.at(offset), s.rkey(), 8).data(8, static_cast<uint8_t>(psn + 1));
}

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// WRITEs of 8 bytes, sent.
std::vector<Pkt> post_writes(Script& s, int32_t first, int32_t count) {
  std::vector<Pkt> sent;
  for (int32_t i = first; i < first + count; ++i) {
    s.post(wr_write(static_cast<uint64_t>(i)).from(0, 8).remote(kVa, kRkey));
    sent.push_back(write_only(i).reth(kVa, kRkey, 8).bytes(s.memory(0, 8)).ack_req());
    s.expect(sent.back());
  }
  return sent;
}

}  // namespace

// --- responder

RULE_CASE("R18", what_came_early_is_executed_when_the_gap_closes) {
  connect(kSelective);
  inject({write_at(*this, 1), write_at(*this, 2).ack_req()});
  expect_nothing();
  expect_memory_untouched();
  inject(write_at(*this, 0));
  expect(ack(2, 3));
  expect_memory(0, joined({pattern(8, 1), pattern(8, 2), pattern(8, 3)}));
}

RULE_CASE("R18 A2", closed_gap_is_acknowledged_though_nobody_asked) {
  connect(kSelective);
  inject(write_at(*this, 1));
  inject(write_at(*this, 0));
  expect(ack(1, 2));
}

RULE_CASE("R18", order_of_arrival_does_not_matter) {
  connect(kSelective);
  inject({write_at(*this, 3), write_at(*this, 1), write_at(*this, 4), write_at(*this, 2)});
  expect_nothing();
  inject(write_at(*this, 0));
  expect(ack(4, 5));
}

RULE_CASE("R18 R1", gap_is_naked_when_it_stays_open_for_100_us) {
  connect(kSelective);
  inject(write_at(*this, 1));
  advance(us(99));
  expect_nothing();
  advance(us(1));
  expect(nak_sequence(0, 0));
  advance(ms(50));
  expect_nothing();
  inject(write_at(*this, 0));
  expect(ack(1, 2));
}

RULE_CASE("R18 R1", gap_is_naked_at_once_when_a_packet_is_65_ahead) {
  connect(kSelective);
  inject(write_at(*this, 64));
  expect_nothing();
  inject(write_at(*this, 65));
  expect(nak_sequence(0, 0));
  inject(write_at(*this, 66));
  expect_nothing();
}

RULE_CASE("R18 R1", next_gap_is_naked_as_soon_as_the_one_before_is_repaired) {
  connect(kSelective);
  inject({write_at(*this, 1), write_at(*this, 3)});
  advance(us(100));
  expect(nak_sequence(0, 0));
  inject(write_at(*this, 0));
  expect(nak_sequence(2, 2));
  inject(write_at(*this, 2));
  expect(ack(3, 4));
}

RULE_CASE("R18 R1", next_gap_has_its_own_100_us_when_the_one_before_closed_by_itself) {
  connect(kSelective);
  inject({write_at(*this, 1), write_at(*this, 3)});
  advance(us(60));
  inject(write_at(*this, 0));
  advance(us(99));
  expect_nothing();
  advance(us(1));
  expect(nak_sequence(2, 2));
}

RULE_CASE("R18", packet_kept_already_is_a_duplicate) {
  connect(kSelective);
  inject(write_at(*this, 1));
  inject(write_at(*this, 1));
  expect_drop(DropReason::duplicate_request);
  expect_counter(&QpCounters::duplicate_requests, 1);
}

RULE_CASE("R18 R1", with_no_room_it_is_dropped_and_naked_as_ever) {
  connect({.held = 2});
  inject({write_at(*this, 1), write_at(*this, 2)});
  inject(write_at(*this, 3));
  expect(nak_sequence(0, 0));
  expect_drop(DropReason::out_of_sequence);
  inject(write_at(*this, 0));
  expect(ack(2, 3));
}

RULE_CASE("R18 R6", what_was_kept_behind_a_send_without_buffer_is_given_up) {
  connect(kSelective);
  inject(send_only(2).data(8).ack_req());
  inject(send_only(1).data(8));
  recv(1, 0, 8);
  inject(send_only(0).data(8));
  expect(rnr_nak(1, 1, 12));
  expect_received({received(1, 8)});
  expect_drop(DropReason::out_of_sequence);
  recv(2, 0, 8);
  recv(3, 8, 8);
  inject({send_only(1).data(8), send_only(2).data(8).ack_req()});
  expect(ack(2, 3));
  expect_received({received(2, 8), received(3, 8)});
}

RULE_CASE("R18 R11", what_was_kept_is_judged_when_its_turn_comes) {
  connect(kSelective);
  inject({write_only(1).reth(at(0), rkey() ^ 1, 8).data(8), write_at(*this, 2)});
  expect_nothing();
  inject(write_at(*this, 0));
  expect_refused(nak_access(1, 1));
  expect_drop(DropReason::out_of_sequence);
  expect_memory(0, pattern(8, 1));
}

RULE_CASE("R18", kept_messages_of_several_packets_and_reads) {
  connect(kSelective);
  inject({write_middle(1).data(256, 2), write_last(2).data(88, 3),
          read_request(3).reth(at(512), rkey(), 88)});
  inject(write_first(0).reth(at(0), rkey(), 600).data(256));
  expect(read_only(3, 2).data(88, 3));
  expect_memory(0, joined({pattern(256), pattern(256, 2), pattern(88, 3)}));
}

RULE_CASE("R18", what_is_kept_goes_with_the_queue_pair) {
  connect(kSelective);
  inject({write_at(*this, 1), write_at(*this, 2)});
  destroy_qp();
  expect_drop(DropReason::out_of_sequence, 2);
}

// --- requester

RULE_CASE("Q12", only_the_missing_packet_is_sent_again) {
  connect(kSelective);
  const std::vector<Pkt> sent = post_writes(*this, 0, 6);
  inject(nak_sequence(2, 2));
  expect_sent({done(0, IBV_WC_RDMA_WRITE), done(1, IBV_WC_RDMA_WRITE)});
  expect(sent[2]);
  inject(ack(5, 6));
  expect_sent({done(2, IBV_WC_RDMA_WRITE), done(3, IBV_WC_RDMA_WRITE), done(4, IBV_WC_RDMA_WRITE),
               done(5, IBV_WC_RDMA_WRITE)});
  expect_counter(&QpCounters::retransmitted, 1);
}

RULE_CASE("Q12", gap_after_gap) {
  connect(kSelective);
  const std::vector<Pkt> sent = post_writes(*this, 0, 6);
  inject(nak_sequence(0, 0));
  expect(sent[0]);
  inject(nak_sequence(3, 3));
  expect_sent({done(0, IBV_WC_RDMA_WRITE), done(1, IBV_WC_RDMA_WRITE), done(2, IBV_WC_RDMA_WRITE)});
  expect(sent[3]);
  inject(nak_sequence(4, 4));
  expect_sent({done(3, IBV_WC_RDMA_WRITE)});
  expect(sent[4]);
  inject(ack(5, 6));
  expect_sent({done(4, IBV_WC_RDMA_WRITE), done(5, IBV_WC_RDMA_WRITE)});
}

RULE_CASE("Q12", nothing_new_is_sent_until_the_first_repair_is_answered) {
  connect(kSelective);
  const std::vector<Pkt> sent = post_writes(*this, 0, 3);
  inject(nak_sequence(0, 0));
  expect(sent[0]);
  post(wr_write(3).from(0, 8).remote(kVa, kRkey));
  expect_nothing();
  inject(ack(2, 3));
  expect_sent({done(0, IBV_WC_RDMA_WRITE), done(1, IBV_WC_RDMA_WRITE), done(2, IBV_WC_RDMA_WRITE)});
  expect(write_only(3).reth(kVa, kRkey, 8).bytes(memory(0, 8)).ack_req());
  inject(nak_sequence(3, 3));  // a peer that is known to keep: nothing waits
  expect(write_only(3).reth(kVa, kRkey, 8).bytes(memory(0, 8)).ack_req());
  post(wr_write(4).from(0, 8).remote(kVa, kRkey));
  expect(write_only(4).reth(kVa, kRkey, 8).bytes(memory(0, 8)).ack_req());
  inject(ack(4, 5));
  expect_sent({done(3, IBV_WC_RDMA_WRITE), done(4, IBV_WC_RDMA_WRITE)});
}

RULE_CASE("E7 Q12", window_is_twice_as_wide_during_a_repair) {
  connect({.window = 4, .held = 64});
  std::vector<Pkt> sent = post_writes(*this, 0, 2);
  inject(nak_sequence(0, 0));
  expect(sent[0]);
  inject(ack(1, 2));  // the peer is known to keep now
  expect_sent({done(0, IBV_WC_RDMA_WRITE), done(1, IBV_WC_RDMA_WRITE)});
  sent = post_writes(*this, 2, 4);
  for (uint64_t i = 6; i < 12; ++i) {
    post(wr_write(i).from(0, 8).remote(kVa, kRkey));
  }
  expect_nothing();
  inject(nak_sequence(2, 2));
  std::vector<Pkt> more = {sent[0]};
  for (int32_t psn = 6; psn < 10; ++psn) {
    more.push_back(write_only(psn).reth(kVa, kRkey, 8).bytes(memory(0, 8)).ack_req());
  }
  expect(more);
}

RULE_CASE("Q12 Q3", peer_that_keeps_nothing_gets_everything_again) {
  connect(kSelective);
  const std::vector<Pkt> sent = post_writes(*this, 0, 4);
  inject(nak_sequence(0, 0));
  expect(sent[0]);
  inject(ack(0, 1));
  expect_sent({done(0, IBV_WC_RDMA_WRITE)});
  expect({sent[1], sent[2], sent[3]});
  // It is known now: the next loss is answered by going back at once.
  inject(nak_sequence(1, 1));
  expect({sent[1], sent[2], sent[3]});
  inject(ack(3, 4));
  expect_sent({done(1, IBV_WC_RDMA_WRITE), done(2, IBV_WC_RDMA_WRITE), done(3, IBV_WC_RDMA_WRITE)});
}

RULE_CASE("Q12 Q3", second_nak_for_the_same_gap_is_one_too_many) {
  connect(kSelective);
  const std::vector<Pkt> sent = post_writes(*this, 0, 2);
  inject(nak_sequence(0, 0));
  expect(sent[0]);
  inject(nak_sequence(0, 0));
  expect_nothing();
  inject(ack(1, 2));
  expect_sent({done(0, IBV_WC_RDMA_WRITE), done(1, IBV_WC_RDMA_WRITE)});
}

RULE_CASE("Q12 Q8", repair_from_memory_that_has_gone_fails) {
  connect(kSelective);
  post_writes(*this, 0, 2);
  deregister_memory();
  inject(nak_sequence(0, 0));
  expect_sent({failed(0, IBV_WC_LOC_PROT_ERR), flushed(1)});
}

RULE_CASE("Q13", silence_after_the_last_packet_is_met_by_the_oldest_again) {
  connect(kSelective);
  // The round trip becomes known: 20 us.
  post(wr_write(0).from(0, 8).remote(kVa, kRkey));
  expect(write_only(0).reth(kVa, kRkey, 8).bytes(memory(0, 8)).ack_req());
  advance(us(20));
  inject(ack(0, 1));
  expect_sent({done(0, IBV_WC_RDMA_WRITE)});
  const std::vector<Pkt> sent = post_writes(*this, 1, 2);
  advance(us(59));
  expect_nothing();
  advance(us(2));  // 2 x 20 us + 2 x 10 us, three round trips
  expect(sent[0]);
  expect_counter(&QpCounters::early_retransmits, 1);
  inject(ack(2, 3));
  expect_sent({done(1, IBV_WC_RDMA_WRITE), done(2, IBV_WC_RDMA_WRITE)});
}

RULE_CASE("Q13 Q4", six_probes_each_twice_as_late_then_the_timeout) {
  Setup setup = kSelective;
  setup.retry_cnt = 0;
  connect(setup);
  const std::vector<Pkt> sent = post_writes(*this, 0, 1);
  for (int i = 0; i < 6; ++i) {
    advance(ms(1 << i) - ns(1));
    expect_nothing();
    advance(ns(1));
    expect(sent[0]);
  }
  advance(ms(4));  // 67.1 ms in all
  expect_nothing();
  advance(us(109));
  expect_sent({failed(0, IBV_WC_RETRY_EXC_ERR)});
  expect_counter(&QpCounters::early_retransmits, 6);
  expect_counter(&QpCounters::timeouts, 1);
}

RULE_CASE("Q13", there_is_no_seventh_probe) {
  Setup setup = kSelective;
  setup.timeout = 17;  // 536.9 ms
  connect(setup);
  const std::vector<Pkt> sent = post_writes(*this, 0, 1);
  for (int i = 0; i < 6; ++i) {
    advance(ms(1 << i));
    expect(sent[0]);
  }
  advance(ms(400));
  expect_nothing();
}

RULE_CASE("Q13 E5", read_whose_response_stays_out_is_asked_for_again_from_where_it_stopped) {
  connect(kSelective);
  post(wr_read(1).from(0, 600).remote(kVa, kRkey));
  expect(read_request(0).reth(kVa, kRkey, 600).ack_req());
  inject(read_first(0, 1).data(256));
  advance(us(20));  // the response came at once: the shortest patience
  expect(read_request(1).reth(kVa + 256, kRkey, 344).ack_req());
  inject({read_first(1, 1).data(256, 2), read_last(2, 1).data(88, 3)});
  expect_sent({done(1, IBV_WC_RDMA_READ)});
}

}  // namespace roce::script
