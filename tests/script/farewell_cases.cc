// What a queue pair that was destroyed still owes its peer: the acknowledgement of what was
// executed, should it have been lost.
// SPDX-License-Identifier: BSD-3-Clause
#include "script/registry.h"

namespace roce::script {
namespace {

/// A SEND has been executed and acknowledged; then the queue pair goes.
void execute_and_destroy(Script& s) {
  s.recv(1, 0, 100);
  s.inject(send_only(0).data(10).ack_req());
  s.expect(ack(0, 1));
  s.expect_received({received(1, 10)});
  s.destroy_qp();
}

}  // namespace

RULE_CASE("R19", duplicates_are_acknowledged_after_the_queue_pair_has_gone) {
  connect();
  execute_and_destroy(*this);
  inject(send_only(0).data(10).ack_req());
  expect(ack(0, 1));
  inject(send_only(0).data(10).ack_req());
  expect(ack(0, 1));
}

RULE_CASE("R19 R2", duplicate_is_acknowledged_with_the_newest_psn) {
  connect();
  inject(write_only(0).reth(at(0), rkey(), 0));
  inject(write_only(1).reth(at(0), rkey(), 0).ack_req());
  expect(ack(1, 2));
  destroy_qp();
  inject(write_only(0).reth(at(0), rkey(), 0));
  expect(ack(1, 2));
}

RULE_CASE("R19 S17", nothing_new_is_taken_for_a_queue_pair_that_has_gone) {
  connect();
  execute_and_destroy(*this);
  inject(send_only(1).data(10).ack_req());
  expect_drop(DropReason::unknown_qpn);
  inject(write_only(1).reth(at(0), rkey(), 4).data(4).ack_req());
  expect_drop(DropReason::unknown_qpn);
}

RULE_CASE("R19 S17", only_sends_and_writes_are_acknowledged) {
  connect();
  set_memory(0, pattern(8));
  inject(read_request(0).reth(at(0), rkey(), 8));
  expect(read_only(0, 1).data(8));
  destroy_qp();
  inject(read_request(0).reth(at(0), rkey(), 8));
  expect_drop(DropReason::unknown_qpn);
}

RULE_CASE("R19 S20", only_the_peer_is_answered) {
  connect();
  execute_and_destroy(*this);
  inject(send_only(0).data(10).ack_req().edit(
      [](wire::Fields& f) { std::get<wire::Ipv4Header>(f.ip).source.bytes[3] ^= 1; }));
  expect_drop(DropReason::unknown_qpn);
}

RULE_CASE("R19", answers_end_with_the_peers_patience) {
  connect();
  execute_and_destroy(*this);
  advance(Duration::from_ms(250));
  inject(send_only(0).data(10).ack_req());
  expect(ack(0, 1));
  advance(Duration::from_ms(280));
  inject(send_only(0).data(10).ack_req());
  expect_drop(DropReason::unknown_qpn);
}

RULE_CASE("R19", queue_pair_in_error_leaves_nothing_behind) {
  connect();
  recv(1, 0, 100);
  inject(send_only(0).data(10).ack_req());
  expect(ack(0, 1));
  expect_received({received(1, 10)});
  move_to(IBV_QPS_ERR);
  destroy_qp();
  inject(send_only(0).data(10).ack_req());
  expect_drop(DropReason::unknown_qpn);
}

}  // namespace roce::script
