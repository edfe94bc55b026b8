// UC: what arrives, what is dropped, what a sender sees.
// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>

#include "script/names.h"
#include "script/registry.h"

namespace roce::script {
namespace {

constexpr uint64_t kVa = Script::kPeerVa;
constexpr uint32_t kRkey = Script::kPeerRkey;
constexpr Setup kUc{.type = IBV_QPT_UC};

}  // namespace

RULE_CASE("U1", uc_send_arrives_and_is_not_acknowledged) {
  connect(kUc);
  recv(1, 0, 100);
  inject(send_only(0).data(8).ack_req());
  expect_received({received(1, 8)});
  expect_memory(0, pattern(8));
}

RULE_CASE("U1", uc_send_of_several_packets_with_immediate) {
  connect(kUc);
  recv(1, 0, 1000);
  inject({send_first(0).data(256), send_middle(1).data(256), send_last_imm(2, 77).data(5)});
  expect_received({received(1, 517).imm(77)});
}

RULE_CASE("U1 A9", uc_write_with_immediate) {
  connect(kUc);
  recv(1, 1000, 8);
  inject({write_first(0).reth(at(0), rkey(), 260).data(256), write_last_imm(1, 3).data(4, 2)});
  expect_received({done(1, IBV_WC_RECV_RDMA_WITH_IMM).len(260).imm(3)});
  expect_memory(256, pattern(4, 2));
}

RULE_CASE("U1", uc_write_of_each_form) {
  connect(kUc);
  inject({write_first(0).reth(at(0), rkey(), 600).data(256), write_middle(1).data(256),
          write_last(2).data(88, 4), write_only(3).reth(at(1024), rkey(), 8).data(8),
          write_only(4).reth(1, 2, 0)});
  expect_memory(512, pattern(88, 4));
  expect_memory(1024, pattern(8));
}

RULE_CASE("U2", uc_gap_drops_the_rest_of_the_message) {
  connect(kUc);
  recv(1, 0, 1000);
  inject({send_first(0).data(256), send_last(2).data(4), send_only(3).data(8, 9)});
  expect_drop(DropReason::broken_message);
  expect_received({received(1, 8)});
  expect_that(memory(0, 8) == pattern(8, 9), "the new message is there");
}

RULE_CASE("U2", uc_first_packet_missing) {
  connect(kUc);
  recv(1, 0, 1000);
  inject({send_middle(1).data(256), send_last(2).data(4)});
  expect_drop(DropReason::broken_message, 2);
  expect_state(IBV_QPS_RTS);
}

RULE_CASE("U2", uc_repeated_middle_packet_breaks_the_message) {
  connect(kUc);
  recv(1, 0, 1000);
  inject({send_first(0).data(256), send_middle(1).data(256), send_middle(1).data(256),
          send_last(2).data(4)});
  expect_drop(DropReason::broken_message, 2);
}

RULE_CASE("U2", uc_message_may_start_at_any_psn) {
  connect(kUc);
  recv(1, 0, 100);
  inject({send_only(100).data(8)});
  expect_received({received(1, 8)});
  inject(write_only(5).reth(at(200), rkey(), 4).data(4));
  expect_memory(200, pattern(4));
}

RULE_CASE("U2", uc_first_inside_a_message_starts_a_new_one) {
  connect(kUc);
  recv(1, 0, 1000);
  inject({send_first(0).data(256), send_first(1).data(256, 2), send_last(2).data(4)});
  expect_received({received(1, 260)});
  expect_that(memory(0, 256) == pattern(256, 2), "it is the second one");
}

RULE_CASE("U2", uc_last_of_the_other_kind) {
  connect(kUc);
  recv(1, 0, 1000);
  inject({send_first(0).data(256), write_last(1).data(4)});
  expect_drop(DropReason::broken_message);
  inject({write_first(2).reth(at(2000), rkey(), 260).data(256), send_last(3).data(4)});
  expect_drop(DropReason::broken_message);
}

RULE_CASE("U3", uc_send_without_a_receive) {
  connect(kUc);
  inject(send_only(0).data(8));
  expect_drop(DropReason::no_receive_wqe);
  recv(1, 0, 100);
  inject(send_only(1).data(8));
  expect_received({received(1, 8)});
}

RULE_CASE("U3 U2", uc_long_send_without_a_receive_is_dropped_whole) {
  connect(kUc);
  inject(send_first(0).data(256));
  expect_drop(DropReason::no_receive_wqe);
  recv(1, 0, 1000);
  inject({send_middle(1).data(256), send_last(2).data(4)});
  expect_drop(DropReason::broken_message, 2);
}

RULE_CASE("U3", uc_write_with_immediate_without_a_receive_has_written) {
  connect(kUc);
  inject(write_only_imm(0, 1).reth(at(0), rkey(), 8).data(8));
  expect_drop(DropReason::no_receive_wqe);
  expect_memory(0, pattern(8));
}

RULE_CASE("U4", uc_message_longer_than_the_receive) {
  connect(kUc);
  recv(1, 0, 100);
  inject(send_only(0).data(101));
  expect_drop(DropReason::message_too_long);
  inject(send_only(1).data(100));
  expect_received({received(1, 100)});
}

RULE_CASES(uc_lengths) {
  struct Row {
    const char* name;
    Pkt (*make)(int32_t);
    bool write;
    uint32_t length;
  };
  const Row rows[] = {{"send_first_of_255", send_first, false, 255},
                      {"send_first_of_257", send_first, false, 257},
                      {"send_only_of_257", send_only, false, 257},
                      {"write_first_of_255", write_first, true, 255},
                      {"write_first_of_257", write_first, true, 257},
                      {"write_only_of_257", write_only, true, 257}};
  for (const Row& row : rows) {
    cases.add("U4 P4", std::string("uc_") + row.name + "_bytes", [row](Script& s) {
      s.connect(kUc);
      s.recv(1, 0, 2000);
      s.inject(row.make(0).data(row.length).reth(s.at(0), s.rkey(), 2000));
      s.expect_drop(DropReason::length);
      s.inject(send_only(1).data(8));
      s.expect_received({received(1, 8)});
    });
  }
  for (const uint32_t length : {0u, 257u}) {
    cases.add("U4 P4", "uc_send_last_of_" + std::to_string(length) + "_bytes", [=](Script& s) {
      s.connect(kUc);
      s.recv(1, 0, 2000);
      s.inject({send_first(0).data(256), send_last(1).data(length)});
      s.expect_drop(DropReason::length);
    });
  }
}

RULE_CASE("U4 P5", uc_write_longer_than_its_reth) {
  connect(kUc);
  inject(write_only(0).reth(at(0), rkey(), 7).data(8));
  expect_drop(DropReason::length);
  expect_memory_untouched();
}

RULE_CASE("U4 P3", uc_send_with_a_wrong_pad) {
  connect(kUc);
  recv(1, 0, 100);
  inject(send_only(0).data(8).pad(2));
  expect_drop(DropReason::length);
}

RULE_CASE("U5", uc_write_with_a_wrong_key) {
  connect(kUc);
  inject(write_only(0).reth(at(0), rkey() ^ 0x80000000, 8).data(8));
  expect_drop(DropReason::access);
  expect_memory_untouched();
  expect_state(IBV_QPS_RTS);
}

RULE_CASE("U5", uc_write_outside_of_the_region) {
  connect(kUc);
  inject(write_only(0).reth(at(kMemory - 4), rkey(), 8).data(8));
  expect_drop(DropReason::access);
  expect_memory_untouched();
}

RULE_CASE("U5", uc_write_without_the_right_on_the_queue_pair) {
  connect({.type = IBV_QPT_UC, .access = 0});
  inject(write_only(0).reth(at(0), rkey(), 8).data(8));
  expect_drop(DropReason::access);
  expect_memory_untouched();
}

RULE_CASE("U5", uc_write_without_the_right_on_the_region) {
  connect({.type = IBV_QPT_UC, .mr_access = IBV_ACCESS_LOCAL_WRITE});
  inject(write_only(0).reth(at(0), rkey(), 8).data(8));
  expect_drop(DropReason::access);
  expect_memory_untouched();
}

RULE_CASES(uc_unknown_opcodes) {
  for (const int opcode : {0x2c, 0x2d, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x3f}) {
    const auto byte = static_cast<uint8_t>(opcode);
    cases.add("U6", "uc_opcode_" + hex(byte, 2), [byte](Script& s) {
      s.connect(kUc);
      s.recv(1, 0, 100);
      s.inject(send_only(0).with_opcode(byte).data(32));
      s.expect_drop(DropReason::unknown_opcode);
      s.expect_state(IBV_QPS_RTS);
    });
  }
}

RULE_CASE("U7", uc_sends_complete_when_they_have_left) {
  connect(kUc);
  post({wr_send(1).from(0, 600), wr_write(2).from(0, 8).remote(kVa, kRkey),
        wr_write_imm(3).from(8, 4).remote(kVa, kRkey).imm(9).solicited()});
  expect({send_first(0).bytes(memory(0, 256)), send_middle(1).bytes(memory(256, 256)),
          send_last(2).bytes(memory(512, 88)),
          write_only(3).reth(kVa, kRkey, 8).bytes(memory(0, 8)),
          write_only_imm(4, 9).reth(kVa, kRkey, 4).bytes(memory(8, 4)).solicited()});
  expect_sent({done(1, IBV_WC_SEND), done(2, IBV_WC_RDMA_WRITE), done(3, IBV_WC_RDMA_WRITE)});
  advance(ms(10'000));
  expect_nothing();
}

RULE_CASES(uc_refused_requests) {
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
                                     IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV}) {
    cases.add("V1", "uc_work_request_opcode_" + std::to_string(opcode), [opcode](Script& s) {
      s.connect(kUc);
      s.post_refused(request(1, opcode).from(0, 8), EINVAL, "not supported");
    });
  }
}

RULE_CASE("Q10 U8", uc_error_whose_completion_is_lost_leads_to_err_not_to_sqe) {
  connect({.type = IBV_QPT_UC, .send_cqes = 1});
  hold_completions(true);
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)));
  post(wr_send(2).from_bad_key(0, 8));
  expect_events({IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL});
  expect_state(IBV_QPS_ERR);
  hold_completions(false);
  expect_sent({done(1, IBV_WC_SEND)});
}

RULE_CASE("U8 T9", uc_wrong_key_of_a_send_leads_to_sqe_and_back) {
  connect(kUc);
  recv(9, 2000, 8);
  post({wr_send(1).from(0, 8), wr_send(2).from_bad_key(0, 8), wr_send(3).from(0, 8)});
  expect(send_only(0).bytes(memory(0, 8)));
  expect_sent({done(1, IBV_WC_SEND), failed(2, IBV_WC_LOC_PROT_ERR), flushed(3)});
  expect_state(IBV_QPS_SQE);
  inject(send_only(0).data(8));
  expect_received({received(9, 8)});
  post(wr_send(4).from(0, 8));
  expect_sent({flushed(4)});
  move_to(IBV_QPS_RTS);
  post(wr_send(5).from(0, 8));
  expect_that(take_frames().size() == 1, "sending goes on");
  expect_sent({done(5, IBV_WC_SEND)});
}

RULE_CASE("U9", uc_receive_with_a_wrong_key) {
  connect(kUc);
  recv_bad_key(1, 0, 100);
  recv(2, 0, 100);
  inject(send_only(0).data(8));
  expect_drop(DropReason::access);
  expect_received({failed(1, IBV_WC_LOC_PROT_ERR), flushed(2)});
  expect_state(IBV_QPS_ERR);
}

}  // namespace roce::script
