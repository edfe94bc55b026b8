// Packets that are dropped before they reach a queue pair, each for its own reason and without a
// word; and what must not matter.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include "base/bytes.h"
#include "script/frames.h"
#include "script/names.h"
#include "script/registry.h"

namespace roce::script {
namespace {

void put16(Bytes& frame, size_t at, size_t value) {
  store_be<uint16_t>(&frame[at], static_cast<uint16_t>(value));
}

/// A sound packet's frame, spoiled.
struct Spoiled {
  const char* rule;
  const char* name;
  DropReason reason;
  void (*spoil)(Bytes& frame);
  bool ipv6 = false;
};

void add(const Generator& cases, const Spoiled& row) {
  cases.add(row.rule, row.name, [row](Script& s) {
    s.connect({.ipv6 = row.ipv6});
    s.inject(sound(s).spoil_frame(row.spoil));
    s.expect_drop(row.reason);
    s.expect_memory_untouched();
    s.inject(sound(s));
    s.expect(ack(0, 1));
  });
}

constexpr Spoiled kUnderlay[] = {
    {"S1", "empty_frame", DropReason::frame_too_short, [](Bytes& f) { f.resize(0); }},
    {"S1", "frame_of_13_bytes", DropReason::frame_too_short, [](Bytes& f) { f.resize(13); }},
    {"S1", "frame_without_an_ip_header", DropReason::frame_too_short,
     [](Bytes& f) { f.resize(14); }},
    {"S1", "frame_with_half_an_ip_header", DropReason::frame_too_short,
     [](Bytes& f) { f.resize(33); }},
    {"S1", "frame_with_half_an_ipv6_header", DropReason::frame_too_short,
     [](Bytes& f) { f.resize(53); }, true},
    {"S1", "frame_with_half_a_vlan_tag", DropReason::frame_too_short,
     [](Bytes& f) {
       put16(f, 12, 0x8100);
       f.resize(17);
     }},
    {"S2", "lldp_frame", DropReason::unknown_ethertype, [](Bytes& f) { put16(f, 12, 0x88cc); }},
    {"S2", "roce_v1_frame", DropReason::unknown_ethertype, [](Bytes& f) { put16(f, 12, 0x8915); }},
    {"S2", "vlan_tag_with_another_vlan_tag_inside", DropReason::unknown_ethertype,
     [](Bytes& f) {
       const uint8_t tag[] = {0x00, 0x01, 0x81, 0x00};
       put16(f, 12, 0x8100);
       f.insert(f.begin() + 14, tag, tag + 4);
     }},
    {"S3", "ip_version_5", DropReason::ip_version, [](Bytes& f) { f[kIp] = 0x55; }},
    {"S3", "ip_version_6_in_an_ipv4_frame", DropReason::ip_version,
     [](Bytes& f) { f[kIp] = 0x65; }},
    {"S3", "ip_version_4_in_an_ipv6_frame", DropReason::ip_version, [](Bytes& f) { f[kIp] = 0x40; },
     true},
    {"S4", "ipv4_header_with_options", DropReason::ip_header_length,
     [](Bytes& f) { f[kIp] = 0x46; }},
    {"S4", "ipv4_header_length_of_4_words", DropReason::ip_header_length,
     [](Bytes& f) { f[kIp] = 0x44; }},
    {"S5", "wrong_ipv4_checksum", DropReason::ip_checksum, [](Bytes& f) { f[kIp + 10] ^= 1; }},
    {"S5", "ipv4_header_changed_on_the_way", DropReason::ip_checksum,
     [](Bytes& f) { f[kIp + 8] ^= 1; }},
    {"S6", "ipv4_total_length_beyond_the_frame", DropReason::ip_total_length,
     [](Bytes& f) {
       put16(f, kIp + 2, f.size() - kIp + 1);
       fix_ip_checksum(f);
     }},
    {"S6", "ipv4_total_length_of_19", DropReason::ip_total_length,
     [](Bytes& f) {
       put16(f, kIp + 2, 19);
       fix_ip_checksum(f);
     }},
    {"S6", "ipv6_payload_length_beyond_the_frame", DropReason::ip_total_length,
     [](Bytes& f) { put16(f, kIp + 4, f.size() - kUdp6 + 1); }, true},
    {"S6", "frame_cut_off", DropReason::ip_total_length, [](Bytes& f) { f.pop_back(); }},
    {"S7", "first_fragment", DropReason::ip_fragment,
     [](Bytes& f) {
       put16(f, kIp + 6, 0x2000);
       fix_ip_checksum(f);
     }},
    {"S7", "last_fragment", DropReason::ip_fragment,
     [](Bytes& f) {
       put16(f, kIp + 6, 0x0001);
       fix_ip_checksum(f);
     }},
    {"S8", "tcp_packet", DropReason::ip_protocol,
     [](Bytes& f) {
       f[kIp + 9] = 6;
       fix_ip_checksum(f);
     }},
    {"S8", "ipv6_hop_by_hop_options", DropReason::ip_protocol, [](Bytes& f) { f[kIp + 6] = 0; },
     true},
    {"S8", "ipv6_routing_header", DropReason::ip_protocol, [](Bytes& f) { f[kIp + 6] = 43; }, true},
    {"S8", "ipv6_fragment_header", DropReason::ip_protocol, [](Bytes& f) { f[kIp + 6] = 44; },
     true},
    {"S8", "ipv6_destination_options", DropReason::ip_protocol, [](Bytes& f) { f[kIp + 6] = 60; },
     true},
    {"S9", "another_udp_port", DropReason::udp_port, [](Bytes& f) { put16(f, kUdp4 + 2, 4790); }},
    {"S9", "another_udp_port_over_ipv6", DropReason::udp_port,
     [](Bytes& f) { put16(f, kUdp6 + 2, 4792); }, true},
    {"S10", "udp_length_too_large", DropReason::udp_length,
     [](Bytes& f) { put16(f, kUdp4 + 4, f.size() - kUdp4 + 1); }},
    {"S10", "udp_length_too_small", DropReason::udp_length,
     [](Bytes& f) { put16(f, kUdp4 + 4, f.size() - kUdp4 - 1); }},
    {"S10", "udp_length_of_0", DropReason::udp_length, [](Bytes& f) { put16(f, kUdp4 + 4, 0); }},
    {"S10", "ip_payload_shorter_than_a_udp_header", DropReason::udp_length,
     [](Bytes& f) {
       put16(f, kIp + 2, 27);
       fix_ip_checksum(f);
     }},
};

/// Cuts an IPv4 frame to `len` bytes from the BTH on; lengths fit.
void cut_behind_udp(Bytes& f, size_t len) {
  f.resize(kUdp4 + 8 + len);
  put16(f, kUdp4 + 4, 8 + len);
  put16(f, kIp + 2, 28 + len);
  fix_ip_checksum(f);
}

}  // namespace

RULE_CASES(underlay) {
  for (const Spoiled& row : kUnderlay) {
    add(cases, row);
  }
}

RULE_CASES(short_headers) {
  for (const size_t len : {0U, 1U, 12U, 15U}) {
    cases.add("S11", "transport_packet_of_" + std::to_string(len) + "_bytes", [=](Script& s) {
      s.connect();
      s.inject(sound(s).spoil_frame([=](Bytes& f) { cut_behind_udp(f, len); }));
      s.expect_drop(DropReason::bth_too_short);
    });
  }
  // Bytes of extension headers, written from protocol-and-verbs.md 1.1 and 1.2.
  struct Row {
    uint8_t opcode;
    size_t extensions;
  };
  for (const Row& row :
       {Row{0x03, 4}, Row{0x05, 4}, Row{0x06, 16}, Row{0x09, 4}, Row{0x0a, 16}, Row{0x0b, 20},
        Row{0x0c, 16}, Row{0x0d, 4}, Row{0x0f, 4}, Row{0x10, 4}, Row{0x11, 4}, Row{0x12, 12},
        Row{0x13, 28}, Row{0x14, 28}, Row{0x16, 4}, Row{0x17, 4}, Row{0x1c, 20}, Row{0x1d, 16}}) {
    cases.add("S14 P1", "headers_cut_off_of_opcode_" + hex(row.opcode, 2), [row](Script& s) {
      s.connect();
      s.inject(sound(s).with_opcode(row.opcode).spoil_frame([row](Bytes& f) {
        cut_behind_udp(f, 12 + row.extensions + 4 - 1);
      }));
      s.expect_drop(DropReason::headers_too_short);
    });
  }
  for (uint8_t pad = 1; pad < 4; ++pad) {
    cases.add("S14", "no_room_for_a_pad_of_" + std::to_string(pad), [pad](Script& s) {
      s.connect();
      s.inject(send_only(0).spoil_frame([pad](Bytes& f) {
        f[kUdp4 + 8 + 1] = static_cast<uint8_t>(pad << 4);
        cut_behind_udp(f, 12 + 4 + pad - 1u);
      }));
      s.expect_drop(DropReason::headers_too_short);
    });
  }
}

RULE_CASES(transport_versions) {
  for (uint8_t version = 1; version < 16; ++version) {
    cases.add("S12", "transport_version_" + std::to_string(version), [version](Script& s) {
      s.connect();
      s.inject(sound(s).edit([=](wire::Fields& f) { f.bth.transport_version = version; }));
      s.expect_drop(DropReason::transport_version);
    });
  }
}

RULE_CASES(opcode_classes) {
  for (const int opcode : {0x40, 0x44, 0x5f, 0x80, 0x82, 0x91, 0xa4, 0xc0, 0xe4, 0xff}) {
    const auto byte = static_cast<uint8_t>(opcode);
    cases.add("S13", "opcode_of_an_unknown_class_" + hex(byte, 2), [byte](Script& s) {
      s.connect();
      s.inject(send_only(0).with_opcode(byte).data(8));
      s.expect_drop(DropReason::unknown_opcode);
    });
  }
  for (const int opcode : {0x20, 0x24, 0x2a, 0x2b, 0x64, 0x65}) {
    const auto byte = static_cast<uint8_t>(opcode);
    cases.add("S18", "opcode_of_another_type_" + hex(byte, 2), [byte](Script& s) {
      s.connect();
      s.recv(1, 0, 100);
      s.inject(send_only(0).with_opcode(byte).data(8).reth(s.at(0), s.rkey(), 8));
      s.expect_drop(DropReason::qp_type);
    });
  }
}

// --- S15 to S17

RULE_CASE("S15", frame_for_another_station) {
  connect();
  inject(sound(*this).edit([](wire::Fields& f) { f.ethernet.destination.bytes[5] ^= 0x10; }));
  expect_drop(DropReason::not_for_us_mac);
}

RULE_CASE("S15", broadcast_frame_is_taken) {
  connect();
  inject(sound(*this).edit([](wire::Fields& f) { f.ethernet.destination = kBroadcastMac; }));
  expect(ack(0, 1));
}

RULE_CASES(unknown_queue_pairs) {
  for (const uint32_t qpn : {0x000000u, 0x000001u, 0xfffffeu}) {
    cases.add("S17", "queue_pair_" + hex(qpn, 6), [qpn](Script& s) {
      s.connect();
      s.inject(sound(s).edit([=](wire::Fields& f) { f.bth.dest_qp = qpn; }));
      s.expect_drop(DropReason::unknown_qpn);
    });
  }
}

RULE_CASE("S17", queue_pair_of_the_same_slot) {
  connect();
  inject(sound(*this).edit([](wire::Fields& f) { f.bth.dest_qp ^= 0x800000; }));
  expect_drop(DropReason::unknown_qpn);
}

RULE_CASE("S17", destroyed_queue_pair) {
  connect();
  destroy_qp();
  inject(sound(*this));
  expect_drop(DropReason::unknown_qpn);
}

// --- S19

RULE_CASES(states_that_do_not_receive) {
  struct Row {
    const char* name;
    ibv_qp_state state;
    bool request;
    bool response;
  };
  for (const Row& row :
       {Row{"reset", IBV_QPS_RESET, false, false}, Row{"init", IBV_QPS_INIT, false, false},
        Row{"rtr", IBV_QPS_RTR, true, false}, Row{"rts", IBV_QPS_RTS, true, true},
        Row{"sqd", IBV_QPS_SQD, true, true}, Row{"err", IBV_QPS_ERR, false, false}}) {
    cases.add("S19", std::string("request_in_state_") + row.name, [row](Script& s) {
      s.create();
      s.bring_to(row.state);
      s.inject(write_only(0).reth(0, 0, 0).ack_req());
      if (row.request) {
        s.expect(ack(0, 1));
        s.expect_events(row.state == IBV_QPS_RTR ? std::vector{IBV_EVENT_COMM_EST}
                                                 : std::vector<ibv_event_type>{});
      } else {
        s.expect_drop(DropReason::qp_state);
      }
    });
    cases.add("S19", std::string("response_in_state_") + row.name, [row](Script& s) {
      s.create();
      s.bring_to(row.state);
      s.inject(ack(0, 1));
      s.expect_drop(row.response ? DropReason::ghost_response : DropReason::qp_state);
    });
  }
}

// --- S20, S21

RULE_CASE("S20", packet_from_another_address) {
  connect();
  inject(sound(*this).edit(
      [](wire::Fields& f) { std::get<wire::Ipv4Header>(f.ip).source.bytes[3] = 3; }));
  expect_drop(DropReason::wrong_source);
}

RULE_CASE("S20", packet_to_another_address) {
  connect();
  inject(sound(*this).edit(
      [](wire::Fields& f) { std::get<wire::Ipv4Header>(f.ip).destination.bytes[3] = 3; }));
  expect_drop(DropReason::wrong_destination);
}

RULE_CASE("S20", ipv6_packet_from_another_address) {
  connect({.ipv6 = true});
  inject(sound(*this).edit(
      [](wire::Fields& f) { std::get<wire::Ipv6Header>(f.ip).source.bytes[15] = 3; }));
  expect_drop(DropReason::wrong_source);
}

RULE_CASE("S20", ipv6_packet_to_another_address) {
  connect({.ipv6 = true});
  inject(sound(*this).edit(
      [](wire::Fields& f) { std::get<wire::Ipv6Header>(f.ip).destination.bytes[15] = 3; }));
  expect_drop(DropReason::wrong_destination);
}

RULE_CASE("S20", response_from_another_address) {
  connect();
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  inject(ack(0, 1).edit(
      [](wire::Fields& f) { std::get<wire::Ipv4Header>(f.ip).source.bytes[0] = 10; }));
  expect_drop(DropReason::wrong_source);
  inject(ack(0, 1));
  expect_sent({done(1, IBV_WC_SEND)});
}

RULE_CASES(partition_keys) {
  for (const int key : {0x0000, 0x7ffe, 0xfffe, 0xbfff, 0x0001}) {
    const auto pkey = static_cast<uint16_t>(key);
    cases.add("S21", "partition_key_" + hex(pkey, 4), [pkey](Script& s) {
      s.connect();
      s.inject(sound(s).edit([=](wire::Fields& f) { f.bth.pkey = pkey; }));
      s.expect_drop(DropReason::pkey);
    });
  }
}

RULE_CASE("S21", partition_key_of_a_limited_member) {
  connect();
  inject(sound(*this).edit([](wire::Fields& f) { f.bth.pkey = 0x7fff; }));
  expect(ack(0, 1));
}

RULE_CASE("S21", limited_members_do_not_talk_to_each_other) {
  connect({.pkey = 0x7fff});
  inject(sound(*this).edit([](wire::Fields& f) { f.bth.pkey = 0x7fff; }));
  expect_drop(DropReason::pkey);
  inject(sound(*this));
  expect_that(forget_sent() == 1, "a full member is answered");
}

}  // namespace roce::script
