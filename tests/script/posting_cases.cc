// What posting refuses, and what completions say.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cerrno>

#include "script/registry.h"

namespace roce::script {
namespace {

constexpr uint64_t kVa = Script::kPeerVa;
constexpr uint32_t kRkey = Script::kPeerRkey;

}  // namespace

RULE_CASES(unknown_requests) {
  for (const int opcode : {10, 11, 12}) {
    cases.add("V1", "work_request_opcode_" + std::to_string(opcode), [opcode](Script& s) {
      s.connect();
      s.post_refused(request(1, static_cast<ibv_wr_opcode>(opcode)).from(0, 8), EINVAL,
                     "not supported");
    });
  }
}

RULE_CASE("V2", too_many_send_pieces) {
  connect();
  post_refused(wr_send(1).from(0, 1).from(0, 1).from(0, 1).from(0, 1).from(0, 1), EINVAL,
               "max_send_sge");
}

RULE_CASE("V2", as_many_send_pieces_as_agreed) {
  connect();
  post(wr_send(1).from(0, 1).from(1, 1).from(2, 1).from(3, 1));
  expect(send_only(0).bytes(memory(0, 4)).ack_req());
}

RULE_CASE("V2", too_many_receive_pieces) {
  connect();
  std::array<ibv_sge, 5> list{};
  ibv_recv_wr wr{};
  wr.sg_list = list.data();
  wr.num_sge = 5;
  ibv_recv_wr* bad = nullptr;
  expect_that(qp().post_recv(&wr, &bad) == EINVAL, "it is refused");
  expect_that(bad == &wr, "it is the bad one");
  wr.num_sge = -1;
  expect_that(qp().post_recv(&wr, &bad) == EINVAL, "a negative number is refused");
}

RULE_CASES(atomics) {
  for (const uint64_t offset : {1U, 4U, 7U}) {
    cases.add("V4", "atomic_posted_at_an_address_plus_" + std::to_string(offset),
              [offset](Script& s) {
                s.connect();
                s.post_refused(wr_fetch_add(1).from(0, 8).atomic(kVa + offset, kRkey, 1), EINVAL,
                               "multiple of 8");
              });
  }
  for (const uint32_t length : {0u, 7u}) {
    cases.add(
        "V4", "atomic_with_room_for_" + std::to_string(length) + "_bytes", [length](Script& s) {
          s.connect();
          s.post_refused(wr_cmp_swap(1).from(0, length).atomic(kVa, kRkey, 1), EINVAL, "8 bytes");
        });
  }
}

RULE_CASE("V5", full_send_queue) {
  connect({.cap = {3, 3, 1, 1, 0}});
  refuse_frames(true);
  for (uint64_t i = 0; i < 3; ++i) {
    post(wr_send(i).from(0, 8));
  }
  post_refused(wr_send(3).from(0, 8), ENOMEM, "full");
  refuse_frames(false);
  const Bytes eight = memory(0, 8);
  expect({send_only(0).bytes(eight).ack_req(), send_only(1).bytes(eight).ack_req(),
          send_only(2).bytes(eight).ack_req()});
  inject(ack(0, 1));
  expect_sent({done(0, IBV_WC_SEND)});
  post(wr_send(4).from(0, 8));
  expect(send_only(3).bytes(eight).ack_req());
}

RULE_CASE("V5", full_receive_queue) {
  connect({.cap = {3, 3, 1, 1, 0}});
  for (uint64_t i = 0; i < 3; ++i) {
    recv(i, 0, 8);
  }
  recv_refused(3, ENOMEM, "full");
  inject(send_only(0).data(8));
  expect_received({received(0, 8)});
  recv(4, 0, 8);
}

RULE_CASE("V6", what_is_before_the_bad_request_stands) {
  connect();
  ibv_sge sge{at(0), 8, mr().lkey()};
  std::array<ibv_send_wr, 3> list{};
  for (size_t i = 0; i < list.size(); ++i) {
    list[i].wr_id = i;
    list[i].opcode = i == 1 ? IBV_WR_TSO : IBV_WR_SEND;
    list[i].sg_list = &sge;
    list[i].num_sge = 1;
    list[i].next = i < 2 ? &list[i + 1] : nullptr;
  }
  ibv_send_wr* bad = nullptr;
  expect_that(qp().post_send(list.data(), &bad) == EINVAL, "it is refused");
  expect_that(bad == &list[1], "the second is the bad one");
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  inject(ack(0, 1));
  expect_sent({done(0, IBV_WC_SEND)});
}

RULE_CASE("V6", receives_before_the_bad_one_stand) {
  connect();
  ibv_sge sge{at(0), 8, mr().lkey()};
  std::array<ibv_recv_wr, 3> list{};
  for (size_t i = 0; i < list.size(); ++i) {
    list[i].wr_id = i;
    list[i].sg_list = &sge;
    list[i].num_sge = i == 1 ? 99 : 1;
    list[i].next = i < 2 ? &list[i + 1] : nullptr;
  }
  ibv_recv_wr* bad = nullptr;
  expect_that(qp().post_recv(list.data(), &bad) == EINVAL, "it is refused");
  expect_that(bad == &list[1], "the second is the bad one");
  move_to(IBV_QPS_ERR);
  expect_received({flushed(0)});
}

RULE_CASE("V7", message_of_more_than_two_gibibytes) {
  connect();
  post_refused(wr_write(1).from(0, 0x8000'0000).from(0, 1).remote(kVa, kRkey), EINVAL, "2^31");
}

// --- completions

RULE_CASE("C1 P12", fetch_add_completion) {
  connect();
  post(wr_fetch_add(1).from(0, 8).atomic(kVa, kRkey, 3));
  expect(fetch_add(0).atomic(kVa, kRkey, 3).ack_req());
  inject(atomic_ack(0, 1, 0x0102030405060708));
  expect_sent({done(1, IBV_WC_FETCH_ADD).len(8)});
  expect_that(word(0) == 0x0102030405060708, "the result is in host order");
}

RULE_CASE("C1 P12", cmp_swap_completion) {
  connect();
  post(wr_cmp_swap(1).from(0, 8).atomic(kVa, kRkey, 3, 4));
  expect(cmp_swap(0).atomic(kVa, kRkey, 4, 3).ack_req());
  inject(atomic_ack(0, 1, 3));
  expect_sent({done(1, IBV_WC_COMP_SWAP).len(8)});
}

RULE_CASE("C1", read_completion) {
  connect();
  post(wr_read(1).from(0, 300).remote(kVa, kRkey));
  expect(read_request(0).reth(kVa, kRkey, 300).ack_req());
  inject({read_first(0, 1).data(256), read_last(1, 1).data(44)});
  expect_sent({done(1, IBV_WC_RDMA_READ).len(300)});
}

RULE_CASE("C1", write_with_immediate_completion) {
  connect();
  post(wr_write_imm(1).from(0, 8).remote(kVa, kRkey).imm(1));
  expect(write_only_imm(0, 1).reth(kVa, kRkey, 8).bytes(memory(0, 8)).ack_req());
  inject(ack(0, 1));
  expect_sent({done(1, IBV_WC_RDMA_WRITE)});
}

RULE_CASE("C1", send_with_immediate_completion) {
  connect();
  post(wr_send_imm(1).from(0, 8).imm(1));
  expect(send_only_imm(0, 1).bytes(memory(0, 8)).ack_req());
  inject(ack(0, 1));
  expect_sent({done(1, IBV_WC_SEND)});
}

RULE_CASE("C1", receive_completion_of_a_long_message) {
  connect();
  recv(7, 0, 5000);
  inject({send_first(0).data(256), send_middle(1).data(256), send_last(2).data(9).ack_req()});
  expect(ack(2, 1));
  expect_received({received(7, 521).from(kPeerQpn)});
}

RULE_CASE("C2 P11", immediate_of_a_send) {
  connect();
  recv(1, 0, 8);
  inject(send_only_imm(0, 0x12345678).data(8).ack_req());
  expect(ack(0, 1));
  expect_received({received(1, 8).imm(0x12345678)});
}

RULE_CASE("C2 P11", immediate_on_the_last_packet_of_a_send) {
  connect();
  recv(1, 0, 300);
  inject({send_first(0).data(256), send_last_imm(1, 0xfedcba98).data(4)});
  expect_received({received(1, 260).imm(0xfedcba98)});
}

RULE_CASE("C2", send_without_immediate_has_none) {
  connect();
  recv(1, 0, 8);
  inject(send_only(0).data(8));
  expect_received({received(1, 8)});
}

}  // namespace roce::script
