// Bytes on the wire, compared with values written from protocol-and-verbs.md 1: opcodes, BTH,
// extension headers, pad, IP and UDP headers.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <functional>

#include "base/bytes.h"
#include "script/names.h"
#include "script/registry.h"

namespace roce::script {
namespace {

constexpr uint64_t kVa = Script::kPeerVa;
constexpr uint32_t kRkey = Script::kPeerRkey;
constexpr size_t kBthAt = 42;  // of an untagged IPv4 frame

/// Bytes in network order, one value after the other.
class Wire {
 public:
  Wire& u8(uint64_t v) { return add(v, 1); }
  Wire& u16(uint64_t v) { return add(v, 2); }
  Wire& u24(uint64_t v) { return add(v, 3); }
  Wire& u32(uint64_t v) { return add(v, 4); }
  Wire& u64(uint64_t v) { return add(v, 8); }
  Wire& bytes(const Bytes& b) {
    bytes_.insert(bytes_.end(), b.begin(), b.end());
    return *this;
  }
  const Bytes& get() const { return bytes_; }

 private:
  Wire& add(uint64_t v, int n) {
    for (int i = n - 1; i >= 0; --i) {
      bytes_.push_back(static_cast<uint8_t>(v >> (8 * i)));
    }
    return *this;
  }
  Bytes bytes_;
};

/// BTH of a packet to the peer: flags, P_Key ffff, queue pair abcd, AckReq and PSN.
Wire bth(uint8_t opcode, uint8_t flags, bool ack_req, uint32_t psn) {
  Wire w;
  w.u8(opcode).u8(flags).u16(0xffff).u8(0).u24(0x00abcd).u8(ack_req ? 0x80 : 0).u24(psn);
  return w;
}

void expect_bytes(Script& s, const Wire& wanted) {
  const Bytes frame = s.take_frame();
  const Bytes seen(frame.begin() + kBthAt, frame.end() - 4);
  s.expect_that(seen == wanted.get(),
                "the packet has these bytes: " + in_hex(wanted.get()) + " and not " + in_hex(seen));
}

}  // namespace

RULE_CASES(request_bytes) {
  struct Row {
    const char* name;
    uint8_t opcode;
    uint8_t flags;
    std::function<Wr(Script&)> wr;
    std::function<void(Script&, Wire&)> rest;
  };
  const auto payload = [](Script& s, Wire& w) { w.bytes(s.memory(0, 8)); };
  const Row rows[] = {
      {"send_only", 0x04, 0, [](Script&) { return wr_send(1).from(0, 8); }, payload},
      {"send_only_of_5_bytes", 0x04, 0x30, [](Script&) { return wr_send(1).from(0, 5); },
       [](Script& s, Wire& w) { w.bytes(s.memory(0, 5)).u24(0); }},
      {"solicited_send_only", 0x04, 0x80, [](Script&) { return wr_send(1).from(0, 8).solicited(); },
       payload},
      {"send_only_imm", 0x05, 0, [](Script&) { return wr_send_imm(1).from(0, 8).imm(0xa1b2c3d4); },
       [](Script& s, Wire& w) { w.u32(0xa1b2c3d4).bytes(s.memory(0, 8)); }},
      {"write_only", 0x0a, 0, [](Script&) { return wr_write(1).from(0, 8).remote(kVa, kRkey); },
       [](Script& s, Wire& w) { w.u64(kVa).u32(kRkey).u32(8).bytes(s.memory(0, 8)); }},
      {"write_only_imm", 0x0b, 0,
       [](Script&) { return wr_write_imm(1).from(0, 8).remote(kVa, kRkey).imm(0xa1b2c3d4); },
       [](Script& s, Wire& w) {
         w.u64(kVa).u32(kRkey).u32(8).u32(0xa1b2c3d4).bytes(s.memory(0, 8));
       }},
      {"read_request", 0x0c, 0, [](Script&) { return wr_read(1).from(0, 1000).remote(kVa, kRkey); },
       [](Script&, Wire& w) { w.u64(kVa).u32(kRkey).u32(1000); }},
      {"cmp_swap", 0x13, 0,
       [](Script&) {
         return wr_cmp_swap(1).from(0, 8).atomic(kVa, kRkey, 0x1112131415161718,
                                                 0x2122232425262728);
       },
       [](Script&, Wire& w) {
         w.u64(kVa).u32(kRkey).u64(0x2122232425262728).u64(0x1112131415161718);
       }},
      {"fetch_add", 0x14, 0,
       [](Script&) { return wr_fetch_add(1).from(0, 8).atomic(kVa, kRkey, 0x1112131415161718); },
       [](Script&, Wire& w) { w.u64(kVa).u32(kRkey).u64(0x1112131415161718).u64(0); }}};
  for (const Row& row : rows) {
    cases.add("P1 P2", std::string("bytes_of_") + row.name, [row](Script& s) {
      s.connect();
      s.post(row.wr(s));
      Wire wanted = bth(row.opcode, row.flags, true, s.device_psn());
      row.rest(s, wanted);
      expect_bytes(s, wanted);
    });
  }
}

RULE_CASES(long_message_bytes) {
  struct Row {
    const char* name;
    uint8_t opcode;
    size_t index;  ///< of the packet
    Wr wr;
    bool reth;
    bool imm;
  };
  const Wr send = wr_send(1).from(0, 600);
  const Wr send_imm = wr_send_imm(1).from(0, 600).imm(0xa1b2c3d4);
  const Wr write = wr_write(1).from(0, 600).remote(kVa, kRkey);
  const Wr write_imm = wr_write_imm(1).from(0, 600).remote(kVa, kRkey).imm(0xa1b2c3d4);
  const Row rows[] = {{"send_first", 0x00, 0, send, false, false},
                      {"send_middle", 0x01, 1, send, false, false},
                      {"send_last", 0x02, 2, send, false, false},
                      {"send_last_imm", 0x03, 2, send_imm, false, true},
                      {"write_first", 0x06, 0, write, true, false},
                      {"write_middle", 0x07, 1, write, false, false},
                      {"write_last", 0x08, 2, write, false, false},
                      {"write_last_imm", 0x09, 2, write_imm, false, true}};
  for (const Row& row : rows) {
    cases.add("P1 P2 P4", std::string("bytes_of_") + row.name, [row](Script& s) {
      s.connect({.window = 1});  // a packet at a time, each with AckReq
      s.post(row.wr);
      for (size_t i = 0; i < row.index; ++i) {
        s.expect_that(s.forget_sent() == 1, "one packet is sent");
        s.inject(ack(static_cast<int32_t>(i), 0));
      }
      Wire wanted =
          bth(row.opcode, 0, true, (s.device_psn() + static_cast<uint32_t>(row.index)) & 0xffffff);
      if (row.reth) {
        wanted.u64(kVa).u32(kRkey).u32(600);
      }
      if (row.imm) {
        wanted.u32(0xa1b2c3d4);
      }
      wanted.bytes(s.memory(row.index * 256, row.index == 2 ? 88 : 256));
      expect_bytes(s, wanted);
    });
  }
}

RULE_CASE("P1 P10", bytes_of_acknowledge) {
  connect();
  inject(write_only(0).reth(0, 0, 0).ack_req());
  expect_bytes(*this, bth(0x11, 0, false, peer_psn()).u8(0x1f).u24(1));
}

RULE_CASE("P1 P10", bytes_of_a_nak) {
  connect();
  inject(read_request(0).reth(at(0), rkey() ^ 1, 8));
  expect_bytes(*this, bth(0x11, 0, false, peer_psn()).u8(0x62).u24(0));
  expect_event(IBV_EVENT_QP_ACCESS_ERR);
}

RULE_CASE("P1 P12", bytes_of_an_atomic_response) {
  connect();
  set_word(0, 0x0102030405060708);
  inject(fetch_add(0).atomic(at(0), rkey(), 1));
  expect_bytes(*this, bth(0x12, 0, false, peer_psn()).u8(0x1f).u24(1).u64(0x0102030405060708));
  expect_that(word(0) == 0x0102030405060709, "memory is in host order");
}

RULE_CASE("P1", bytes_of_read_response_only) {
  connect();
  inject(read_request(0).reth(at(0), rkey(), 8));
  expect_bytes(*this, bth(0x10, 0, false, peer_psn()).u8(0x1f).u24(1).bytes(memory(0, 8)));
}

RULE_CASE("P1 A5", opcodes_of_read_responses) {
  connect();
  inject(read_request(0).reth(at(0), rkey(), 600));
  const std::vector<Bytes> frames = take_frames();
  expect_that(frames.size() == 3, "there are three");
  expect_that(frames[0][kBthAt] == 0x0d && frames[1][kBthAt] == 0x0e && frames[2][kBthAt] == 0x0f,
              "the opcodes are 0d, 0e, 0f");
  expect_that(frames[0].size() == kBthAt + 12 + 4 + 256 + 4, "FIRST has an AETH");
  expect_that(frames[1].size() == kBthAt + 12 + 256 + 4, "MIDDLE has none");
  expect_that(frames[2].size() == kBthAt + 12 + 4 + 88 + 4, "LAST has an AETH");
}

// --- the network

RULE_CASE("N1", bytes_of_the_ipv4_and_udp_headers) {
  connect();
  post(wr_send(1).from(0, 8));
  const Bytes f = take_frame();
  Wire ip;
  ip.u8(0x45).u8(0).u16(f.size() - 14).u16(0).u16(0x4000).u8(64).u8(17);
  expect_that(std::equal(ip.get().begin(), ip.get().end(), f.begin() + 14), "the IP header");
  expect_that(load_be<uint16_t>(&f[36]) == 4791, "the UDP port is 4791");
  expect_that(load_be<uint16_t>(&f[38]) == f.size() - 34, "the UDP length");
  expect_that(load_be<uint16_t>(&f[40]) == 0, "there is no UDP checksum");
}

RULE_CASES(flow_labels) {
  for (const uint32_t label : {0u, 1u, 0x3fffu, 0x4000u, 0xabcdeu, 0xfffffu}) {
    cases.add("N2", "source_port_of_flow_label_" + hex(label, 5), [label](Script& s) {
      s.connect({.flow_label = label});
      s.post(wr_send(1).from(0, 8));
      s.expect(send_only(0).bytes(s.memory(0, 8)).ack_req());
    });
  }
}

RULE_CASE("N2 N3 N5", flow_label_and_traffic_class_over_ipv6) {
  connect({.ipv6 = true, .traffic_class = 0x68, .hop_limit = 3, .flow_label = 0x54321});
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
}

RULE_CASES(hop_limits) {
  for (const int hops : {0, 1, 64, 255}) {
    cases.add("N3", "hop_limit_of_" + std::to_string(hops), [hops](Script& s) {
      s.connect({.hop_limit = static_cast<uint8_t>(hops)});
      s.post(wr_send(1).from(0, 8));
      s.expect(send_only(0).bytes(s.memory(0, 8)).ack_req());
    });
  }
}

RULE_CASE("N3", traffic_class_of_requests_and_responses) {
  connect({.traffic_class = 0xb8});
  inject(write_only(0).reth(0, 0, 0).ack_req());
  expect(ack(0, 1));
}

RULE_CASES(vlans) {
  for (const bool ipv6 : {false, true}) {
    cases.add("N4", std::string("vlan_over_") + (ipv6 ? "ipv6" : "ipv4"), [ipv6](Script& s) {
      s.connect({.ipv6 = ipv6, .vlan = 100, .sl = 5});
      s.post(wr_send(1).from(0, 8));
      s.expect(send_only(0).bytes(s.memory(0, 8)).ack_req());
      s.inject({ack(0, 1), read_request(0).reth(s.at(0), s.rkey(), 8)});
      s.expect_sent({done(1, IBV_WC_SEND)});
      s.expect(read_only(0, 1).bytes(s.memory(0, 8)));
    });
  }
}

RULE_CASE("N5", all_kinds_of_requests_over_ipv6) {
  connect({.ipv6 = true});
  recv(1, 0, 8);
  set_word(512, 4);
  inject({send_only(0).data(8), write_only(1).reth(at(16), rkey(), 4).data(4),
          read_request(2).reth(at(256), rkey(), 8), fetch_add(3).atomic(at(512), rkey(), 1)});
  expect({read_only(2, 3).bytes(memory(256, 8)), atomic_ack(3, 4, 4)});
  expect_received({received(1, 8)});
  post({wr_send(2).from(0, 8), wr_read(3).from(1024, 8).remote(kVa, kRkey)});
  expect(
      {send_only(0).bytes(memory(0, 8)).ack_req(), read_request(1).reth(kVa, kRkey, 8).ack_req()});
  inject(read_only(1, 2).data(8));
  expect_sent({done(2, IBV_WC_SEND), done(3, IBV_WC_RDMA_READ)});
}

RULE_CASES(path_mtus) {
  for (const ibv_mtu mtu : kEveryPmtu) {
    const uint32_t bytes = 128u << mtu;
    cases.add("N6", "port_mtu_just_large_enough_" + pmtu_name(mtu),
              [=](Script& s) { s.connect({.pmtu = mtu, .port_mtu = bytes + 80}); });
    if (mtu > IBV_MTU_256) {
      cases.add("N6", "port_mtu_one_byte_too_small_" + pmtu_name(mtu), [=](Script& s) {
        s.create({.pmtu = mtu, .port_mtu = bytes + 79});
        s.bring_to(IBV_QPS_INIT);
        s.modify_refused(s.attributes(IBV_QPS_RTR), s.mask(IBV_QPS_RTR),
                         "needs a port MTU of " + std::to_string(bytes + 80));
      });
    }
  }
}

RULE_CASE("N7", peer_that_nobody_knows) {
  create();
  bring_to(IBV_QPS_INIT);
  ibv_qp_attr attr = attributes(IBV_QPS_RTR);
  attr.ah_attr.grh.dgid.raw[15] = 77;
  const Instant start = clock().now();
  const Status refused = qp().modify(attr, mask(IBV_QPS_RTR));
  expect_that(!refused && refused.error().code == EHOSTUNREACH, "it is refused");
  expect_that(clock().now() - start < ms(3100), "within the time set");
  forget_link_frames();
  expect_state(IBV_QPS_INIT);
  bring_to(IBV_QPS_RTS);
}

RULE_CASE("N8 Q4", timers_run_while_the_port_takes_nothing) {
  connect({.retry_cnt = 1});
  refuse_frames(true);
  post(wr_send(1).from(0, 8));
  advance(ms(1000));
  expect_sent({failed(1, IBV_WC_RETRY_EXC_ERR)});
  expect_state(IBV_QPS_ERR);
  refuse_frames(false);
  forget_sent();
}

RULE_CASE("N8", nothing_is_lost_while_the_port_takes_nothing) {
  connect({.cap = {128, 16, 4, 4, 64}, .send_cqes = 128});
  refuse_frames(true);
  std::vector<Pkt> all;
  for (int i = 0; i < 100; ++i) {
    post(wr_send(uint64_t(i)).from(size_t(i), 8));
    all.push_back(send_only(i).bytes(memory(size_t(i), 8)).ack_req());
  }
  expect_nothing();
  refuse_frames(false);
  expect(all);
}

}  // namespace roce::script
