// Selective recovery, the receiving side: a QP keeps what comes too early.
// SPDX-License-Identifier: BSD-3-Clause
#include "script/registry.h"

namespace roce::script {
namespace {

constexpr Setup kSelective{.held = 64};

Pkt write_at(Script& s, int32_t psn) {
  const auto offset = static_cast<size_t>(psn) * 8;
  return write_only(psn).reth(s.at(offset), s.rkey(), 8).data(8, static_cast<uint8_t>(psn + 1));
}

}  // namespace

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

RULE_CASE("R18 A2", closed_gap_is_acknowledged_before_the_rest_of_the_burst_is_looked_at) {
  connect(kSelective);
  inject(write_at(*this, 1));
  inject({write_at(*this, 0), read_request(2).reth(at(512), rkey(), 8)});
  expect({ack(1, 2), read_only(2, 3).bytes(memory(512, 8))});
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

RULE_CASE("R18", middle_of_the_open_write_is_placed_at_once) {
  connect(kSelective);
  inject({write_first(0).reth(at(0), rkey(), 1112).data(256), write_middle(2).data(256, 3)});
  expect_memory(0, pattern(256));
  expect_memory(512, pattern(256, 3));
  inject(write_middle(2).data(256, 3));
  expect_drop(DropReason::duplicate_request);
  inject({write_middle(3).data(256, 4), write_last(4).data(88, 5).ack_req()});
  inject(write_middle(1).data(256, 2));
  expect(ack(4, 1));
  expect_memory(
      0, joined({pattern(256), pattern(256, 2), pattern(256, 3), pattern(256, 4), pattern(88, 5)}));
}

RULE_CASE("R18", last_of_the_open_write_waits_for_the_bytes_before_it) {
  connect(kSelective);
  inject({write_first(0).reth(at(0), rkey(), 600).data(256), write_last(2).data(88, 3)});
  expect_memory(0, pattern(256));
  expect_memory(512, {});
  inject(write_middle(1).data(256, 2));
  expect(ack(2, 1));
  expect_memory(0, joined({pattern(256), pattern(256, 2), pattern(88, 3)}));
}

RULE_CASE("R18", nothing_of_a_later_write_is_placed_early) {
  connect(kSelective);
  inject({write_first(0).reth(at(0), rkey(), 512).data(256),
          write_first(2).reth(at(0), rkey(), 600).data(256, 7), write_middle(3).data(256, 8)});
  expect_memory(0, pattern(256));
  inject(write_last(1).data(256, 2));
  expect(ack(3, 1));
  expect_memory(0, joined({pattern(256, 7), pattern(256, 8)}));
}

RULE_CASE("R18 R12", middle_that_does_not_fit_is_judged_in_its_turn) {
  connect(kSelective);
  inject({write_first(0).reth(at(0), rkey(), 768).data(256), write_middle(2).data(256, 3)});
  expect_memory(0, pattern(256));
  inject(write_middle(1).data(256, 2));
  expect_refused(nak_invalid(2, 0));
  expect_memory(0, joined({pattern(256), pattern(256, 2)}));
}

RULE_CASES(early_packets_that_are_not_placed) {
  const auto add = [&cases](const char* name, Pkt (*strange)(Script&)) {
    cases.add("R18 R7", name, [strange](Script& s) {
      s.connect(kSelective);
      s.inject({write_first(0).reth(s.at(0), s.rkey(), 1024).data(256), strange(s)});
      s.expect_memory(0, pattern(256));
      s.inject(write_middle(1).data(256, 2));
      s.expect_refused(nak_invalid(2, 0));
      s.expect_memory(0, joined({pattern(256), pattern(256, 2)}));
    });
  };
  add("early_last_where_a_middle_should_be", [](Script&) { return write_last(2).data(256, 3); });
  add("early_part_of_a_send_while_a_write_is_open",
      [](Script&) { return send_middle(2).data(256, 3); });
  add("early_first_while_a_write_is_open",
      [](Script& s) { return write_first(2).reth(s.at(0), s.rkey(), 512).data(256, 3); });
  add("early_middle_that_is_too_short", [](Script&) { return write_middle(2).data(252, 3); });
}

RULE_CASE("R18 R1", middle_of_the_open_write_is_not_placed_if_it_is_not_kept) {
  connect({.held = 1});
  inject({write_first(0).reth(at(0), rkey(), 2048).data(256), write_middle(2).data(256, 3)});
  inject(write_middle(3).data(256, 4));
  expect(nak_sequence(1, 0));
  expect_drop(DropReason::out_of_sequence);
  expect_memory(512, pattern(256, 3));
}

RULE_CASE("R18 R11", region_that_goes_while_a_placed_packet_waits_refuses_it) {
  connect(kSelective);
  inject({write_first(0).reth(at(0), rkey(), 1024).data(256), write_middle(2).data(256, 3)});
  deregister_memory();
  inject(write_middle(1).data(256, 2));
  expect_refused(nak_access(1, 0));
  expect_drop(DropReason::out_of_sequence);
}

RULE_CASE("R18 R8", middle_of_the_open_write_is_not_placed_once_the_right_has_gone) {
  connect(kSelective);
  inject(write_first(0).reth(at(0), rkey(), 1024).data(256));
  ibv_qp_attr attr{};
  attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
  modify(attr, IBV_QP_ACCESS_FLAGS);
  inject(write_middle(2).data(256, 3));
  expect_memory(0, pattern(256));
  expect_memory(512, {});
  inject(write_middle(1).data(256, 2));
  expect_refused(nak_invalid(1, 0));
  expect_drop(DropReason::out_of_sequence);
}

RULE_CASE("R18", placed_packets_go_with_the_queue_pair) {
  connect(kSelective);
  inject({write_first(0).reth(at(0), rkey(), 1024).data(256), write_middle(2).data(256, 3)});
  destroy_qp();
  expect_drop(DropReason::out_of_sequence);
}

}  // namespace roce::script
