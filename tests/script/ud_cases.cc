// UD: datagrams in and out, Q_Keys, the GRH area, multicast.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "script/names.h"
#include "script/registry.h"

namespace roce::script {
namespace {

constexpr uint32_t kQkey = Script::kQkey;
constexpr uint32_t kSender = 0x000777;
constexpr uint32_t kGrh = 40;
constexpr Setup kUd{.type = IBV_QPT_UD};

Pkt datagram(uint32_t qkey = kQkey) {
  return send_only(0).deth(qkey, kSender);
}

ibv_gid group() {
  ibv_gid gid{};
  const uint8_t raw[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3};
  std::memcpy(gid.raw, raw, sizeof raw);
  return gid;
}

Pkt to_group(Pkt p) {
  return p.edit([](wire::Fields& f) {
    f.bth.dest_qp = 0xffffff;
    f.ethernet.destination = {{0x01, 0x00, 0x5e, 1, 2, 3}};
    std::get<wire::Ipv4Header>(f.ip).destination = {{239, 1, 2, 3}};
  });
}

/// What the peer gets: DETH with this key and the device's QPN.
Pkt sent_datagram(Script& s, int32_t psn, uint32_t qkey) {
  return send_only(psn).deth(qkey, s.qp().qpn());
}

}  // namespace

RULE_CASE("D1 D6", datagram_sent) {
  connect(kUd);
  post(wr_send(1).from(0, 8));
  expect(sent_datagram(*this, 0, kQkey).bytes(memory(0, 8)));
  expect_sent({done(1, IBV_WC_SEND)});
}

RULE_CASE("D1", datagram_sent_with_another_key_to_another_queue_pair) {
  connect(kUd);
  post(wr_send(1).from(0, 8).to(0x123, 0x55));
  expect(sent_datagram(*this, 0, 0x55).bytes(memory(0, 8)).edit([](wire::Fields& f) {
    f.bth.dest_qp = 0x123;
  }));
  expect_sent({done(1, IBV_WC_SEND)});
}

RULE_CASE("D1", upper_bit_asks_for_the_queue_pairs_own_key) {
  connect(kUd);
  post(wr_send(1).from(0, 8).to(0x123, 0x80000055));
  expect(sent_datagram(*this, 0, kQkey).bytes(memory(0, 8)).edit([](wire::Fields& f) {
    f.bth.dest_qp = 0x123;
  }));
  expect_sent({done(1, IBV_WC_SEND)});
}

RULE_CASE("D1 P7 P11", solicited_datagram_with_immediate) {
  connect(kUd);
  post(wr_send_imm(1).from(0, 8).imm(0xa1b2c3d4).solicited());
  expect(send_only_imm(0, 0xa1b2c3d4).deth(kQkey, qp().qpn()).bytes(memory(0, 8)).solicited());
  expect_sent({done(1, IBV_WC_SEND)});
}

RULE_CASE("D1 P8", each_datagram_takes_a_psn) {
  connect(kUd);
  post({wr_send(1).from(0, 8), wr_send(2).from(8, 0), wr_send(3).from(16, 8).inlined()});
  expect({sent_datagram(*this, 0, kQkey).bytes(memory(0, 8)), sent_datagram(*this, 1, kQkey),
          sent_datagram(*this, 2, kQkey).bytes(memory(16, 8))});
  expect_sent({done(1, IBV_WC_SEND), done(2, IBV_WC_SEND), done(3, IBV_WC_SEND)});
}

RULE_CASES(wrong_qkeys) {
  for (const uint32_t key : {0u, kQkey ^ 1, kQkey ^ 0x80000000, 0xffffffffu}) {
    cases.add("D2", "datagram_with_qkey_" + hex(key, 8), [key](Script& s) {
      s.connect(kUd);
      s.recv(1, 0, 100);
      s.inject(datagram(key).data(8));
      s.expect_drop(DropReason::qkey);
      s.inject(datagram().data(8));
      s.expect_received({received(1, kGrh + 8)});
    });
  }
}

RULE_CASE("D2 T5", qkey_changed_in_rts) {
  connect(kUd);
  recv(1, 0, 100);
  ibv_qp_attr attr = attributes(IBV_QPS_RTS);
  attr.qkey = 0x99;
  modify(attr, IBV_QP_STATE | IBV_QP_QKEY);
  inject(datagram().data(8));
  expect_drop(DropReason::qkey);
  inject(datagram(0x99).data(8));
  expect_received({received(1, kGrh + 8)});
}

RULE_CASE("D3", grh_area_of_an_ipv4_datagram) {
  connect(kUd);
  recv(1, 0, 100);
  const Pkt p = datagram().data(8);
  const Bytes frame = frame_of(p);
  inject(p);
  expect_received({received(1, kGrh + 8)});
  expect_that(memory(0, 20) == Bytes(20), "20 zeros");
  expect_that(memory(20, 20) == Bytes(frame.begin() + 14, frame.begin() + 34), "the IPv4 header");
  expect_memory(kGrh, pattern(8));
}

RULE_CASE("D3 N5", grh_area_of_an_ipv6_datagram) {
  connect({.type = IBV_QPT_UD, .ipv6 = true});
  recv(1, 0, 100);
  const Pkt p = datagram().data(8);
  const Bytes frame = frame_of(p);
  inject(p);
  expect_received({received(1, kGrh + 8)});
  expect_that(memory(0, 40) == Bytes(frame.begin() + 14, frame.begin() + 54), "the IPv6 header");
  expect_memory(kGrh, pattern(8));
}

RULE_CASE("D3", empty_datagram) {
  connect(kUd);
  recv(1, 0, kGrh);
  inject(datagram());
  expect_received({received(1, kGrh)});
}

RULE_CASE("D4", datagram_without_a_receive) {
  connect(kUd);
  inject(datagram().data(8));
  expect_drop(DropReason::no_receive_wqe);
  expect_state(IBV_QPS_RTS);
}

RULE_CASES(datagrams_too_long_for_the_receive) {
  for (const uint32_t room : {0u, 39u, 40u, 47u}) {
    cases.add("D5", "datagram_of_8_bytes_into_" + std::to_string(room), [room](Script& s) {
      s.connect(kUd);
      s.recv(1, 0, room);
      s.inject(datagram().data(8));
      s.expect_drop(DropReason::message_too_long);
      s.expect_state(IBV_QPS_RTS);
      s.expect_memory_untouched();
    });
  }
}

RULE_CASE("D5", receive_that_was_too_short_serves_the_next_datagram) {
  connect(kUd);
  recv(1, 0, 50);
  inject(datagram().data(11));
  expect_drop(DropReason::message_too_long);
  inject(datagram().data(10));
  expect_received({received(1, 50)});
}

RULE_CASE("D5 L1", datagram_too_long_for_a_shared_receive) {
  connect({.type = IBV_QPT_UD, .shared_receives = 4});
  recv(1, 0, 50);
  inject(datagram().data(11));
  expect_drop(DropReason::message_too_long);
  inject(datagram().data(10));
  expect_received({received(1, 50)});
}

RULE_CASE("D6", datagram_of_one_path_mtu) {
  connect(kUd);
  recv(1, 0, 5000);
  inject(datagram().data(4096));
  expect_received({received(1, kGrh + 4096)});
}

RULE_CASE("D6 P4", datagram_of_more_than_a_path_mtu) {
  connect(kUd);
  recv(1, 0, 5000);
  inject(datagram().data(4097));
  expect_drop(DropReason::length);
}

RULE_CASE("D6 P3", datagram_with_a_wrong_pad) {
  connect(kUd);
  recv(1, 0, 5000);
  inject(datagram().data(8).pad(1));
  expect_drop(DropReason::length);
}

RULE_CASE("D6", datagram_posted_that_is_too_long) {
  connect(kUd);
  post_refused(wr_send(1).from(0, 4097), EINVAL, "path MTU");
}

RULE_CASES(ud_unknown_opcodes) {
  for (const int opcode : {0x60, 0x61, 0x62, 0x63, 0x66, 0x6a, 0x6c, 0x71, 0x73, 0x77, 0x7f}) {
    const auto byte = static_cast<uint8_t>(opcode);
    cases.add("D7", "ud_opcode_" + hex(byte, 2), [byte](Script& s) {
      s.connect(kUd);
      s.recv(1, 0, 100);
      s.inject(datagram().with_opcode(byte).data(32));
      s.expect_drop(DropReason::unknown_opcode);
      s.expect_state(IBV_QPS_RTS);
    });
  }
}

RULE_CASES(ud_refused_requests) {
  for (const ibv_wr_opcode opcode :
       {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
        IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV, IBV_WR_LOCAL_INV, IBV_WR_BIND_MW}) {
    cases.add("V1", "ud_work_request_opcode_" + std::to_string(opcode), [opcode](Script& s) {
      s.connect(kUd);
      s.post_refused(request(1, opcode).from(0, 8), EINVAL, "not supported");
    });
  }
}

RULE_CASE("D8 C2", completion_of_a_datagram) {
  connect(kUd);
  recv(1, 0, 100);
  inject(send_only_imm(0, 0xfeedf00d).deth(kQkey, kSender).data(8));
  expect_received({received(1, kGrh + 8).imm(0xfeedf00d).from(kSender)});
}

RULE_CASES(packet_types) {
  for (const bool ipv6 : {false, true}) {
    cases.add("D8 D3", std::string("packet_type_of_") + (ipv6 ? "ipv6" : "ipv4"),
              [ipv6](Script& s) {
                s.connect({.type = IBV_QPT_UD, .ipv6 = ipv6});
                s.recv(1, 0, 100);
                s.hold_completions(true);
                s.inject(datagram().data(8));
                ibv_wc wc[2];
                s.expect_that(s.recv_cq().poll(wc) == 1, "there is one completion");
                s.expect_that(wc[0].sl == (ipv6 ? 3 : 2), "sl is the packet type");
                s.expect_that((wc[0].wc_flags & IBV_WC_GRH) != 0, "the GRH flag is set");
              });
  }
}

RULE_CASE("D9 T9", wrong_key_of_a_datagram_leads_to_sqe_and_back) {
  connect(kUd);
  recv(9, 1000, 100);
  post({wr_send(1).from_bad_key(0, 8), wr_send(2).from(0, 8)});
  expect_sent({failed(1, IBV_WC_LOC_PROT_ERR), flushed(2)});
  expect_state(IBV_QPS_SQE);
  inject(datagram().data(8));
  expect_received({received(9, kGrh + 8)});
  move_to(IBV_QPS_RTS);
  post(wr_send(3).from(0, 8));
  expect_that(take_frames().size() == 1, "sending goes on");
  expect_sent({done(3, IBV_WC_SEND)});
}

RULE_CASE("D10", datagram_to_a_group_that_nobody_has_joined) {
  connect(kUd);
  recv(1, 0, 100);
  inject(to_group(datagram().data(8)));
  expect_drop(DropReason::unknown_group);
}

RULE_CASE("D10", each_member_of_a_group_gets_a_copy) {
  connect(kUd);
  verbs::Qp other = another_qp();
  expect_that(qp().attach_mcast(group()) && other.attach_mcast(group()), "both join");
  forget_link_frames();
  recv(1, 0, 100);
  ibv_sge sge{at(1000), 100, mr().lkey()};
  ibv_recv_wr wr{};
  wr.wr_id = 2;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  expect_that(other.post_recv(&wr, &bad) == 0, "the other one receives, too");
  inject(to_group(datagram().data(8)));
  expect_received({received(1, kGrh + 8), received(2, kGrh + 8).of(other.qpn())});
  expect_memory(kGrh, pattern(8));
  expect_memory(1000 + kGrh, pattern(8));
  expect_that(qp().detach_mcast(group()) && other.detach_mcast(group()), "both leave");
  forget_link_frames();
}

RULE_CASE("D10", member_that_has_left_gets_no_copy) {
  connect(kUd);
  expect_that(qp().attach_mcast(group()).has_value(), "it joins");
  expect_that(qp().detach_mcast(group()).has_value(), "it leaves");
  forget_link_frames();
  recv(1, 0, 100);
  inject(to_group(datagram().data(8)));
  expect_drop(DropReason::unknown_group);
}

RULE_CASE("D11", datagrams_of_any_psn_from_anywhere) {
  connect(kUd);
  recv(1, 0, 100);
  recv(2, 200, 100);
  inject(datagram().data(8).edit([](wire::Fields& f) { f.bth.psn = Psn(0x123456); }));
  expect_received({received(1, kGrh + 8)});
  inject(datagram().data(8).edit([](wire::Fields& f) {
    std::get<wire::Ipv4Header>(f.ip).source = {{198, 51, 100, 7}};
  }));
  expect_received({received(2, kGrh + 8)});
}

RULE_CASE("D11 S20", datagram_to_another_address) {
  connect(kUd);
  recv(1, 0, 100);
  inject(datagram().data(8).edit(
      [](wire::Fields& f) { std::get<wire::Ipv4Header>(f.ip).destination.bytes[3] = 9; }));
  expect_drop(DropReason::wrong_destination);
}

RULE_CASE("D9 U9", datagram_into_a_receive_with_a_wrong_key) {
  connect(kUd);
  recv_bad_key(1, 0, 100);
  inject(datagram().data(8));
  expect_drop(DropReason::access);
  expect_received({failed(1, IBV_WC_LOC_PROT_ERR)});
  expect_state(IBV_QPS_ERR);
}

}  // namespace roce::script
