// What queue pairs do in their states, and which values of attributes are taken.
// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <cstring>
#include <string>

#include "script/registry.h"

namespace roce::script {
namespace {

constexpr uint64_t kVa = Script::kPeerVa;
constexpr uint32_t kRkey = Script::kPeerRkey;

/// A value that is refused, by the move that carries it.
struct WrongValue {
  const char* name;
  ibv_qp_state to;
  void (*set)(ibv_qp_attr& attr);
  const char* words;
};

constexpr WrongValue kWrongValues[] = {
    {"pkey_index_of_1", IBV_QPS_INIT, [](ibv_qp_attr& a) { a.pkey_index = 1; }, "pkey_index is 1"},
    {"port_0", IBV_QPS_INIT, [](ibv_qp_attr& a) { a.port_num = 0; }, "port_num is 0"},
    {"port_2", IBV_QPS_INIT, [](ibv_qp_attr& a) { a.port_num = 2; }, "port_num is 2"},
    {"path_mtu_of_0", IBV_QPS_RTR, [](ibv_qp_attr& a) { a.path_mtu = ibv_mtu(0); }, "path_mtu"},
    {"path_mtu_of_6", IBV_QPS_RTR, [](ibv_qp_attr& a) { a.path_mtu = ibv_mtu(6); }, "path_mtu"},
    {"dest_qp_num_of_25_bits", IBV_QPS_RTR, [](ibv_qp_attr& a) { a.dest_qp_num = 1u << 24; },
     "dest_qp_num"},
    {"rq_psn_of_25_bits", IBV_QPS_RTR, [](ibv_qp_attr& a) { a.rq_psn = 1u << 24; }, "rq_psn"},
    {"max_dest_rd_atomic_of_129", IBV_QPS_RTR, [](ibv_qp_attr& a) { a.max_dest_rd_atomic = 129; },
     "max_dest_rd_atomic is 129"},
    {"min_rnr_timer_of_32", IBV_QPS_RTR, [](ibv_qp_attr& a) { a.min_rnr_timer = 32; },
     "min_rnr_timer is 32"},
    {"gid_index_behind_the_table", IBV_QPS_RTR,
     [](ibv_qp_attr& a) { a.ah_attr.grh.sgid_index = 3; }, "sgid_index is 3"},
    {"flow_label_of_21_bits", IBV_QPS_RTR,
     [](ibv_qp_attr& a) { a.ah_attr.grh.flow_label = 1u << 20; }, "flow_label"},
    {"address_without_a_gid", IBV_QPS_RTR, [](ibv_qp_attr& a) { a.ah_attr.is_global = 0; },
     "is_global"},
    {"address_of_port_2", IBV_QPS_RTR, [](ibv_qp_attr& a) { a.ah_attr.port_num = 2; },
     "ah_attr.port_num is 2"},
    {"multicast_address", IBV_QPS_RTR, [](ibv_qp_attr& a) { a.ah_attr.grh.dgid.raw[12] = 224; },
     "not a unicast"},
    {"address_of_zeros", IBV_QPS_RTR,
     [](ibv_qp_attr& a) { std::memset(a.ah_attr.grh.dgid.raw, 0, 16); }, "unicast"},
    {"gid_of_another_family", IBV_QPS_RTR, [](ibv_qp_attr& a) { a.ah_attr.grh.sgid_index = 2; },
     "same family"},
    {"timeout_of_32", IBV_QPS_RTS, [](ibv_qp_attr& a) { a.timeout = 32; }, "timeout is 32"},
    {"retry_cnt_of_8", IBV_QPS_RTS, [](ibv_qp_attr& a) { a.retry_cnt = 8; }, "retry_cnt is 8"},
    {"rnr_retry_of_8", IBV_QPS_RTS, [](ibv_qp_attr& a) { a.rnr_retry = 8; }, "rnr_retry is 8"},
    {"sq_psn_of_25_bits", IBV_QPS_RTS, [](ibv_qp_attr& a) { a.sq_psn = 1u << 24; }, "sq_psn"},
    {"max_rd_atomic_of_129", IBV_QPS_RTS, [](ibv_qp_attr& a) { a.max_rd_atomic = 129; },
     "max_rd_atomic is 129"}};

ibv_qp_state before(ibv_qp_state state) {
  return static_cast<ibv_qp_state>(state - 1);
}

}  // namespace

RULE_CASES(wrong_values) {
  for (const WrongValue& v : kWrongValues) {
    cases.add("T14", v.name, [&v](Script& s) {
      s.create();
      s.bring_to(before(v.to));
      ibv_qp_attr attr = s.attributes(v.to);
      v.set(attr);
      s.modify_refused(attr, s.mask(v.to), v.words);
      s.modify(s.attributes(v.to), s.mask(v.to));
    });
  }
}

RULE_CASE("T14", state_that_does_not_exist) {
  create();
  ibv_qp_attr attr = attributes(IBV_QPS_INIT);
  attr.qp_state = static_cast<ibv_qp_state>(7);
  modify_refused(attr, mask(IBV_QPS_INIT), "qp_state is 7");
}

RULE_CASE("T14", largest_values_are_taken) {
  create({.port_mtu = 4176});
  bring_to(IBV_QPS_INIT);
  ibv_qp_attr attr = attributes(IBV_QPS_RTR);
  attr.dest_qp_num = attr.rq_psn = 0xffffff;
  attr.max_dest_rd_atomic = 128;
  attr.min_rnr_timer = 31;
  attr.path_mtu = IBV_MTU_4096;
  attr.ah_attr.grh.flow_label = 0xfffff;
  modify(attr, mask(IBV_QPS_RTR));
  attr = attributes(IBV_QPS_RTS);
  attr.timeout = 31;
  attr.retry_cnt = attr.rnr_retry = 7;
  attr.sq_psn = 0xffffff;
  attr.max_rd_atomic = 128;
  modify(attr, mask(IBV_QPS_RTS));
}

RULE_CASES(current_state) {
  for (int state = IBV_QPS_RESET; state <= IBV_QPS_ERR; ++state) {
    if (state != IBV_QPS_RTS) {
      cases.add("T13", "current_state_" + std::to_string(state) + "_claimed_in_rts",
                [state](Script& s) {
                  s.connect();
                  ibv_qp_attr attr = s.attributes(IBV_QPS_RTS);
                  attr.cur_qp_state = static_cast<ibv_qp_state>(state);
                  s.modify_refused(attr, IBV_QP_STATE | IBV_QP_CUR_STATE, "RTS");
                });
    }
  }
}

RULE_CASE("T13", current_state_that_holds) {
  connect();
  ibv_qp_attr attr = attributes(IBV_QPS_RTS);
  attr.cur_qp_state = IBV_QPS_RTS;
  modify(attr, IBV_QP_STATE | IBV_QP_CUR_STATE);
}

// --- T10, T11, T15

RULE_CASE("T10", reset_discards_requests_and_completions) {
  connect();
  hold_completions(true);
  recv(1, 0, 8);
  recv(2, 0, 8);
  post({wr_send(3).from(0, 8), wr_send(4).from(0, 8)});
  const Bytes eight = memory(0, 8);
  expect({send_only(0).bytes(eight).ack_req(), send_only(1).bytes(eight).ack_req()});
  inject({send_only(0).data(4), ack(0, 1)});
  move_to(IBV_QPS_RESET);
  hold_completions(false);
  expect_nothing();
  advance(ms(1000));
  expect_nothing();
}

RULE_CASE("T10", queue_pair_works_again_after_reset) {
  connect();
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  inject(write_first(0).reth(at(0), rkey(), 300).data(256));
  move_to(IBV_QPS_RESET);
  bring_to(IBV_QPS_RTS);
  post(wr_send(2).from(512, 8));
  expect(send_only(0).bytes(memory(512, 8)).ack_req());
  inject({ack(0, 1), write_only(0).reth(at(0), rkey(), 4).data(4).ack_req()});
  expect(ack(0, 1));
  expect_sent({done(2, IBV_WC_SEND)});
}

RULE_CASE("T11", error_flushes_and_silences) {
  connect();
  recv(1, 0, 8);
  post(wr_send(2).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  move_to(IBV_QPS_ERR);
  expect_sent({flushed(2)});
  expect_received({flushed(1)});
  advance(ms(1000));
  expect_nothing();
}

RULE_CASE("T11", error_in_init_flushes_receives) {
  create();
  bring_to(IBV_QPS_INIT);
  recv(1, 0, 8);
  recv(2, 0, 8);
  move_to(IBV_QPS_ERR);
  expect_received({flushed(1), flushed(2)});
}

RULE_CASE("T11 A1", error_forgets_the_ack_that_is_due) {
  connect();
  refuse_frames(true);
  inject(write_only(0).reth(0, 0, 0).ack_req());
  inject(read_request(1).reth(at(0), rkey(), 256 * 100));
  move_to(IBV_QPS_ERR);
  refuse_frames(false);
  expect_that(forget_sent() < 64, "what was not built yet is not sent");
}

RULE_CASE("T15", reset_takes_no_requests) {
  create();
  recv_refused(1, EINVAL, "INIT");
  post_refused(wr_send(1).from(0, 8), EINVAL, "RTS");
}

RULE_CASE("T15", init_takes_receives_only) {
  create();
  bring_to(IBV_QPS_INIT);
  recv(1, 0, 8);
  post_refused(wr_send(2).from(0, 8), EINVAL, "RTS");
  bring_to(IBV_QPS_RTS);
  inject(send_only(0).data(8).ack_req());
  expect(ack(0, 1));
  expect_received({received(1, 8)});
}

RULE_CASE("T15 C5", rtr_receives_and_does_not_send) {
  create();
  bring_to(IBV_QPS_RTR);
  recv(1, 0, 8);
  post_refused(wr_send(2).from(0, 8), EINVAL, "RTS");
  inject(send_only(0).data(8).ack_req());
  expect(ack(0, 1));
  expect_received({received(1, 8)});
  expect_event(IBV_EVENT_COMM_EST);
  inject(read_request(1).reth(at(16), rkey(), 8));
  expect(read_only(1, 2).bytes(memory(16, 8)));
}

// --- E11

RULE_CASE("E11 T15", sends_posted_in_sqd_wait_for_rts) {
  connect();
  move_to(IBV_QPS_SQD);
  post(wr_send(1).from(0, 8));
  advance(ms(1000));
  expect_nothing();
  move_to(IBV_QPS_RTS);
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
}

RULE_CASE("E11", started_requests_are_finished_in_sqd) {
  connect();
  post(wr_send(1).from(0, 8));
  const Pkt p = send_only(0).bytes(memory(0, 8)).ack_req();
  expect(p);
  move_to(IBV_QPS_SQD);
  inject(nak_sequence(0, 0));
  expect(p);
  inject(ack(0, 1));
  expect_sent({done(1, IBV_WC_SEND)});
}

RULE_CASE("E11 E4", request_that_waits_for_its_turn_waits_in_sqd) {
  connect({.rd_atomic = 1});
  post({wr_read(1).from(0, 8).remote(kVa, kRkey), wr_send(2).from(8, 8).fence()});
  expect(read_request(0).reth(kVa, kRkey, 8).ack_req());
  move_to(IBV_QPS_SQD);
  inject(read_only(0, 1).data(8));
  expect_sent({done(1, IBV_WC_RDMA_READ)});
  advance(ms(100));
  expect_nothing();
  move_to(IBV_QPS_RTS);
  expect(send_only(1).bytes(memory(8, 8)).ack_req());
}

RULE_CASE("E11", sqd_receives) {
  connect();
  recv(1, 0, 8);
  move_to(IBV_QPS_SQD);
  inject(send_only(0).data(8).ack_req());
  expect(ack(0, 1));
  expect_received({received(1, 8)});
}

// --- attributes take effect

RULE_CASE("T5 P9", rnr_timer_changed_in_rts) {
  connect();
  ibv_qp_attr attr = attributes(IBV_QPS_RTS);
  attr.min_rnr_timer = 5;
  modify(attr, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER);
  inject(send_only(0).data(8));
  expect(rnr_nak(0, 0, 5));
}

RULE_CASE("T5 R8", right_taken_away_in_rts) {
  connect();
  inject(write_only(0).reth(at(0), rkey(), 4).data(4));
  ibv_qp_attr attr = attributes(IBV_QPS_RTS);
  attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
  modify(attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS);
  inject(write_only(1).reth(at(0), rkey(), 4).data(4));
  expect_refused(nak_invalid(1, 1));
}

RULE_CASE("T7 Q4", timeout_changed_in_sqd) {
  connect();
  move_to(IBV_QPS_SQD);
  ibv_qp_attr attr = attributes(IBV_QPS_SQD);
  attr.timeout = 1;
  attr.retry_cnt = 0;
  modify(attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT);
  move_to(IBV_QPS_RTS);
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  advance(ns(8192));
  expect_sent({failed(1, IBV_WC_RETRY_EXC_ERR)});
}

RULE_CASE("T7 R10", responder_resources_changed_in_sqd) {
  connect({.dest_rd_atomic = 0});
  move_to(IBV_QPS_SQD);
  ibv_qp_attr attr = attributes(IBV_QPS_SQD);
  attr.max_dest_rd_atomic = 1;
  modify(attr, IBV_QP_STATE | IBV_QP_MAX_DEST_RD_ATOMIC);
  inject(read_request(0).reth(at(0), rkey(), 8));
  expect(read_only(0, 1).bytes(memory(0, 8)));
}

RULE_CASE("Q11", long_queues_are_flushed_whole) {
  connect({.cap = {300, 300, 1, 1, 0}, .send_cqes = 300, .recv_cqes = 300});
  std::vector<Done> sends;
  std::vector<Done> receives;
  size_t sent = 0;
  for (uint64_t id = 0; id < 300; ++id) {
    post(wr_send(id).from(0, 8));
    sent += forget_sent();
    sends.push_back(flushed(id));
  }
  for (uint64_t id = 1000; id < 1100; ++id) {  // fewer: one queue is done before the other
    recv(id, 0, 8);
    receives.push_back(flushed(id));
  }
  expect_that(sent == setup().window, "the others wait");
  move_to(IBV_QPS_ERR);
  expect_sent(sends);
  expect_received(receives);
}

RULE_CASE("T8 E11", sqd_to_rts_keeps_the_sequence) {
  connect();
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  inject({ack(0, 1), write_only(0).reth(0, 0, 0)});
  expect_sent({done(1, IBV_WC_SEND)});
  move_to(IBV_QPS_SQD);
  move_to(IBV_QPS_RTS);
  post(wr_send(2).from(0, 8));
  expect(send_only(1).bytes(memory(0, 8)).ack_req());
  inject({ack(1, 2), write_only(1).reth(0, 0, 0).ack_req()});
  expect(ack(1, 2));
  expect_sent({done(2, IBV_WC_SEND)});
}

}  // namespace roce::script
