// Selective recovery, the sending side: a QP sends again only what its peer misses.
// SPDX-License-Identifier: BSD-3-Clause
#include "script/registry.h"

namespace roce::script {
namespace {

constexpr uint64_t kVa = Script::kPeerVa;
constexpr uint32_t kRkey = Script::kPeerRkey;
constexpr Setup kSelective{.held = 64};

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

RULE_CASE("Q12 Q13", answer_to_a_probe_says_nothing_about_what_the_peer_keeps) {
  connect(kSelective);
  std::vector<Pkt> sent = post_writes(*this, 0, 2);
  inject(nak_sequence(0, 0));
  expect(sent[0]);
  inject(ack(0, 1));  // it keeps nothing
  expect_sent({done(0, IBV_WC_RDMA_WRITE)});
  expect(sent[1]);
  inject(ack(1, 2));
  expect_sent({done(1, IBV_WC_RDMA_WRITE)});
  sent = post_writes(*this, 2, 3);
  advance(us(20));
  expect(sent[0]);  // a probe; nothing was lost, the ACK is late
  inject(ack(4, 5));
  expect_sent({done(2, IBV_WC_RDMA_WRITE), done(3, IBV_WC_RDMA_WRITE), done(4, IBV_WC_RDMA_WRITE)});
  sent = post_writes(*this, 5, 3);
  inject(nak_sequence(5, 5));
  expect({sent[0], sent[1], sent[2]});
}

RULE_CASE("Q12", peer_that_ceased_to_keep_is_noticed_by_its_acknowledgement) {
  connect(kSelective);
  std::vector<Pkt> sent = post_writes(*this, 0, 3);
  inject(nak_sequence(0, 0));
  expect(sent[0]);
  inject(ack(2, 3));  // it keeps
  expect_sent({done(0, IBV_WC_RDMA_WRITE), done(1, IBV_WC_RDMA_WRITE), done(2, IBV_WC_RDMA_WRITE)});
  sent = post_writes(*this, 3, 3);
  inject(nak_sequence(3, 3));
  expect(sent[0]);
  inject(ack(3, 4));
  expect_sent({done(3, IBV_WC_RDMA_WRITE)});
  expect({sent[1], sent[2]});
}

RULE_CASE("Q12", peer_that_takes_one_packet_a_nak_is_put_on_trial) {
  connect(kSelective);
  std::vector<Pkt> sent = post_writes(*this, 0, 2);
  inject(nak_sequence(0, 0));
  expect(sent[0]);
  inject(ack(1, 2));  // it keeps
  expect_sent({done(0, IBV_WC_RDMA_WRITE), done(1, IBV_WC_RDMA_WRITE)});
  sent = post_writes(*this, 2, 7);
  inject(nak_sequence(2, 2));
  expect(sent[0]);
  for (int32_t psn = 3; psn <= 6; ++psn) {
    inject(nak_sequence(psn, static_cast<uint32_t>(psn)));
    expect_sent({done(static_cast<uint64_t>(psn - 1), IBV_WC_RDMA_WRITE)});
    expect(sent[static_cast<size_t>(psn - 2)]);
  }
  post(wr_write(9).from(0, 8).remote(kVa, kRkey));
  expect_nothing();  // nothing new on trial
  inject(ack(6, 7));
  expect_sent({done(6, IBV_WC_RDMA_WRITE)});
  expect({sent[5], sent[6], write_only(9).reth(kVa, kRkey, 8).bytes(memory(0, 8)).ack_req()});
}

RULE_CASE("E7 Q3", peer_that_keeps_nothing_gets_half_as_much_at_once_after_a_loss) {
  connect({.window = 32, .held = 64});
  std::vector<Pkt> sent = post_writes(*this, 0, 2);
  inject(nak_sequence(0, 0));
  expect(sent[0]);
  inject(ack(0, 1));  // it keeps nothing: 16 from now on
  expect_sent({done(0, IBV_WC_RDMA_WRITE)});
  expect(sent[1]);
  inject(ack(1, 2));
  expect_sent({done(1, IBV_WC_RDMA_WRITE)});
  sent = post_writes(*this, 2, 16);
  for (uint64_t i = 18; i < 30; ++i) {
    post(wr_write(i).from(0, 8).remote(kVa, kRkey));
  }
  expect_nothing();
  inject(nak_sequence(2, 2));
  expect(sent);  // 16 are the least
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

RULE_CASE("Q13", peer_that_has_become_slow_is_not_asked_twice_for_each_request) {
  connect(kSelective);
  post_writes(*this, 0, 1);  // the round trip becomes known: 20 us
  advance(us(20));
  inject(ack(0, 1));
  expect_sent({done(0, IBV_WC_RDMA_WRITE)});
  const std::vector<Pkt> sent = post_writes(*this, 1, 1);
  advance(us(61));
  expect(sent[0]);
  advance(us(39));
  inject(ack(1, 2));  // after 100 us
  expect_sent({done(1, IBV_WC_RDMA_WRITE)});
  post_writes(*this, 2, 1);
  advance(us(100));
  expect_nothing();
  inject(ack(2, 3));
  expect_sent({done(2, IBV_WC_RDMA_WRITE)});
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

RULE_CASE("Q13 T10", reset_forgets_how_the_peer_answered_a_probe) {
  connect(kSelective);
  for (int life = 0; life < 2; ++life) {
    const std::vector<Pkt> sent = post_writes(*this, 0, 3);
    advance(ms(1));
    expect(sent[0]);
    inject(ack(0, 1));  // once is no proof that it keeps nothing
    expect_sent({done(0, IBV_WC_RDMA_WRITE)});
    move_to(IBV_QPS_RESET);
    bring_to(IBV_QPS_RTS);
  }
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
