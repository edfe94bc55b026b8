// Packets with several faults are counted once, under the first; bits that must not matter.
// SPDX-License-Identifier: BSD-3-Clause
#include "engine/counters.h"
#include "script/frames.h"
#include "script/registry.h"

namespace roce::script {
namespace {

/// A fault that can be combined with others, in the order of the checks.
struct Fault {
  const char* name;
  DropReason reason;
  void (*before)(wire::Fields& f);  ///< applied before the ICRC is computed
  void (*after)(wire::Fields& f);   ///< and after
};

void nothing(wire::Fields& /*f*/) {}

constexpr Fault kFaults[] = {
    {"ip_checksum", DropReason::ip_checksum, nothing,
     [](wire::Fields& f) { std::get<wire::Ipv4Header>(f.ip).checksum ^= 1; }},
    {"udp_port", DropReason::udp_port, [](wire::Fields& f) { f.udp.destination_port = 1; },
     nothing},
    {"udp_length", DropReason::udp_length, nothing, [](wire::Fields& f) { f.udp.length ^= 1; }},
    {"transport_version", DropReason::transport_version,
     [](wire::Fields& f) { f.bth.transport_version = 2; }, nothing},
    {"mac", DropReason::not_for_us_mac,
     [](wire::Fields& f) { f.ethernet.destination.bytes[5] ^= 0x10; }, nothing},
    {"icrc", DropReason::icrc, nothing, [](wire::Fields& f) { f.icrc ^= 1; }},
    {"qpn", DropReason::unknown_qpn, [](wire::Fields& f) { f.bth.dest_qp = 0; }, nothing},
    {"source", DropReason::wrong_source,
     [](wire::Fields& f) { std::get<wire::Ipv4Header>(f.ip).source.bytes[3] = 9; }, nothing},
    {"pkey", DropReason::pkey, [](wire::Fields& f) { f.bth.pkey = 1; }, nothing}};

/// A difference that makes none.
struct Harmless {
  const char* name;
  void (*change)(wire::Fields& f);
};

wire::Ipv4Header& ipv4(wire::Fields& f) {
  return std::get<wire::Ipv4Header>(f.ip);
}

constexpr Harmless kHarmless[] = {
    {"udp_source_port_0", [](wire::Fields& f) { f.udp.source_port = 0; }},
    {"udp_source_port_65535", [](wire::Fields& f) { f.udp.source_port = 0xffff; }},
    {"udp_checksum_that_is_wrong", [](wire::Fields& f) { f.udp.checksum = 0x1234; }},
    {"mig_req", [](wire::Fields& f) { f.bth.mig_req = true; }},
    {"fecn", [](wire::Fields& f) { f.bth.fecn = true; }},
    {"becn", [](wire::Fields& f) { f.bth.becn = true; }},
    {"reserved_bits_of_byte_4", [](wire::Fields& f) { f.bth.reserved6 = 0x3f; }},
    {"reserved_bits_before_the_psn", [](wire::Fields& f) { f.bth.reserved7 = 0x7f; }},
    {"solicited_bit_on_a_write", [](wire::Fields& f) { f.bth.solicited = true; }},
    {"traffic_class", [](wire::Fields& f) { ipv4(f).tos = 0xb8; }},
    {"ttl_of_1", [](wire::Fields& f) { ipv4(f).ttl = 1; }},
    {"ttl_of_255", [](wire::Fields& f) { ipv4(f).ttl = 255; }},
    {"ip_identification", [](wire::Fields& f) { ipv4(f).identification = 0xffff; }},
    {"no_dont_fragment_flag", [](wire::Fields& f) { ipv4(f).flags_and_offset = 0; }},
    {"source_mac_of_a_router", [](wire::Fields& f) { f.ethernet.source.bytes[0] = 0x0a; }},
    {"vlan_tag_of_priority_0",
     [](wire::Fields& f) {
       f.ethernet.ethertype = wire::kEtherTypeVlan;
       f.vlan = wire::VlanTag{0, false, 0, wire::kEtherTypeIpv4};
     }},
    {"vlan_tag_of_priority_7", [](wire::Fields& f) {
       f.ethernet.ethertype = wire::kEtherTypeVlan;
       f.vlan = wire::VlanTag{7, true, 0, wire::kEtherTypeIpv4};
     }}};

Pkt congestion_notification() {
  return packet(wire::Operation::send_middle, 0)
      .with_opcode(0x81)
      .bytes(Bytes(16))
      .edit([](wire::Fields& f) {
        f.bth.becn = true;
        f.bth.psn = Psn(0);
        f.bth.ack_req = false;
      });
}

void mark(wire::Fields& f) {
  ipv4(f).tos = 3;
}

}  // namespace

RULE_CASES(two_faults) {
  for (size_t i = 0; i < std::size(kFaults); ++i) {
    for (size_t j = i + 1; j < std::size(kFaults); ++j) {
      const Fault& a = kFaults[i];
      const Fault& b = kFaults[j];
      cases.add("S22", std::string("fault_of_") + a.name + "_before_" + b.name,
                [&a, &b](Script& s) {
                  s.connect();
                  s.inject(sound(s).edit(a.before).edit(b.before).spoil(a.after).spoil(b.after));
                  s.expect_drop(a.reason);
                  s.expect_memory_untouched();
                });
    }
  }
}

RULE_CASES(harmless) {
  for (const Harmless& h : kHarmless) {
    cases.add("S23", std::string("request_with_") + h.name, [&h](Script& s) {
      s.connect();
      s.inject(sound(s).edit(h.change));
      s.expect(ack(0, 1));
      s.expect_memory(0, pattern(8));
    });
    cases.add("S23", std::string("response_with_") + h.name, [&h](Script& s) {
      s.connect();
      s.post(wr_send(1).from(0, 8));
      s.expect(send_only(0).bytes(s.memory(0, 8)).ack_req());
      s.inject(ack(0, 1).edit(h.change));
      s.expect_sent({done(1, IBV_WC_SEND)});
    });
  }
}

RULE_CASE("S23", bytes_behind_the_ip_packet) {
  connect();
  inject(sound(*this).spoil_frame([](Bytes& f) { f.resize(f.size() + 30, 0xaa); }));
  expect(ack(0, 1));
}

RULE_CASE("S23", reserved_bits_of_both_ends_at_once) {
  connect();
  inject(sound(*this).edit([](wire::Fields& f) {
    f.bth.mig_req = f.bth.fecn = f.bth.becn = f.bth.solicited = true;
    f.bth.reserved6 = 0x3f;
    f.bth.reserved7 = 0x7f;
    f.udp.source_port = 0;
    f.udp.checksum = 0xffff;
  }));
  expect(ack(0, 1));
}

RULE_CASE("S24", congestion_notification_is_counted_and_not_answered) {
  connect();
  inject(congestion_notification().edit([](wire::Fields& f) { f.udp.source_port = 0; }));
  expect_nothing();
  expect_that(device().counters().rcvd_cnp == 1, "it is counted");
  expect_state(IBV_QPS_RTS);
}

RULE_CASE("S24 S20", congestion_notification_is_believed_from_the_peer_only) {
  connect();
  const auto to_the_qp = [this](wire::Fields& f) { f.bth.dest_qp = qp().qpn(); };
  inject(congestion_notification().edit(to_the_qp).edit(
      [](wire::Fields& f) { ipv4(f).source.bytes[3] ^= 1; }));
  expect_nothing();
  expect_counter(&QpCounters::cnps_rcvd, 0);
  inject(congestion_notification().edit(to_the_qp));
  expect_nothing();
  expect_counter(&QpCounters::cnps_rcvd, 1);
}

RULE_CASE("S24 S16", congestion_notification_with_a_wrong_icrc) {
  connect();
  inject(congestion_notification().spoil([](wire::Fields& f) { f.icrc ^= 1; }));
  expect_drop(DropReason::icrc);
  expect_that(device().counters().rcvd_cnp == 0, "it is not counted");
}

RULE_CASE("S25", marked_request_is_executed_and_its_sender_notified) {
  connect();
  inject(sound(*this).edit(mark));
  expect({congestion_notification(), ack(0, 1)});
  expect_memory(0, pattern(8));
  expect_that(device().counters().rcvd_ce == 1, "it is counted");
}

RULE_CASE("S25", marked_response_is_taken_and_its_sender_notified) {
  connect();
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  inject(ack(0, 1).edit(mark));
  expect(congestion_notification());
  expect_sent({done(1, IBV_WC_SEND)});
}

}  // namespace roce::script
