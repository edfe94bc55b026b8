// Packets: what a script's words mean on the wire, and how the peer's ones get in.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <utility>

#include "script/addresses.h"
#include "script/script.h"
#include "script/words.h"
#include "wire/icrc.h"

namespace roce::script {
namespace {

constexpr uint16_t kPeerSourcePort = 0xc321;
constexpr uint8_t kDefaultHopLimit = 64;

/// Written from protocol-and-verbs.md 5.2, apart from the library's own.
uint16_t source_port(uint32_t flow_label, uint64_t local_qpn, uint64_t remote_qpn) {
  uint64_t fl = flow_label;
  if (fl == 0) {
    uint64_t v = local_qpn * remote_qpn;
    v ^= v >> 20;
    v ^= v >> 40;
    fl = v & 0xfffff;
  }
  return static_cast<uint16_t>(((fl & 0x3fff) ^ ((fl & 0xfc000) >> 14)) | 0xc000);
}

/// Another pad, and the lengths, checksum and ICRC that go with it.
void change_pad(wire::Fields& f, size_t pad) {
  f.pad.assign(pad, 0);
  f.bth.pad_count = static_cast<uint8_t>(pad);
  const size_t headers = wire::kOpcodes[f.bth.opcode].headers_len;
  f.udp.length = static_cast<uint16_t>(wire::UdpHeader::kSize + headers + f.payload.size() + pad +
                                       wire::kIcrcSize);
  if (auto* v6 = std::get_if<wire::Ipv6Header>(&f.ip)) {
    v6->payload_length = f.udp.length;
  } else {
    auto& v4 = std::get<wire::Ipv4Header>(f.ip);
    v4.total_length = static_cast<uint16_t>(wire::Ipv4Header::kSize + f.udp.length);
    v4.checksum = 0;
    uint8_t bytes[wire::Ipv4Header::kSize];
    v4.emit(bytes);
    v4.checksum = wire::Ipv4Header::checksum_of(bytes);
  }
  const Bytes frame = wire::emit(f);
  const size_t l3 = wire::EthernetHeader::kSize + (f.vlan ? wire::VlanTag::kSize : 0);
  f.icrc = wire::icrc_finish(
      wire::icrc_of_headers(frame.data() + l3, frame.size() - l3 - wire::kIcrcSize));
}

/// E7: a window's worth of packets asks for four ACKs at least.
bool ack_is_due(Psn psn, uint32_t window) {
  const uint32_t interval = std::bit_floor(std::max(window / 4, 1u));
  return psn.value() % interval == interval - 1;
}

wire::Transport transport_of(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_UC:
      return wire::Transport::uc;
    case IBV_QPT_UD:
      return wire::Transport::ud;
    default:
      return wire::Transport::rc;
  }
}

}  // namespace

void Script::add_addresses(wire::Fields& f, bool from_peer) const {
  const MacAddress own = port_->info().mac;
  const uint16_t ip_type = setup_.ipv6 ? wire::kEtherTypeIpv6 : wire::kEtherTypeIpv4;
  f.ethernet.destination = from_peer ? own : kPeerMac;
  f.ethernet.source = from_peer ? kPeerMac : own;
  f.ethernet.ethertype = setup_.vlan ? wire::kEtherTypeVlan : ip_type;
  if (setup_.vlan) {
    f.vlan = wire::VlanTag{setup_.sl, false, *setup_.vlan, ip_type};
  }
  const uint8_t hops = setup_.hop_limit == 0 ? kDefaultHopLimit : setup_.hop_limit;
  if (setup_.ipv6) {
    wire::Ipv6Header ip;
    ip.traffic_class = setup_.traffic_class;
    ip.flow_label = setup_.flow_label;
    ip.hop_limit = hops;
    ip.source = ipv6_of(from_peer);
    ip.destination = ipv6_of(!from_peer);
    f.ip = ip;
  } else {
    wire::Ipv4Header ip;
    ip.tos = setup_.traffic_class;
    ip.ttl = hops;
    ip.source = ipv4_of(from_peer);
    ip.destination = ipv4_of(!from_peer);
    f.ip = ip;
  }
  f.udp.source_port =
      from_peer ? kPeerSourcePort
                : source_port(setup_.flow_label, setup_.type == IBV_QPT_UD ? 0 : qpn_, kPeerQpn);
}

wire::Fields Script::fields_of(const Pkt& p, bool from_peer) const {
  wire::Fields f = p.fields;
  add_addresses(f, from_peer);
  f.bth.opcode = p.opcode.value_or(wire::opcode_of(transport_of(setup_.type), p.operation));
  f.bth.dest_qp = from_peer ? qpn_ : kPeerQpn;
  // Responses count from the first PSN of the other direction's requests.
  const bool is_response = wire::kOpcodes[f.bth.opcode].verb == wire::Verb::response;
  const uint32_t start = from_peer != is_response ? info_.peer_psn : info_.device_psn;
  f.bth.psn = Psn(start + static_cast<uint32_t>(p.psn));
  if (!from_peer && !is_response && setup_.type == IBV_QPT_RC) {
    f.bth.ack_req |= ack_is_due(f.bth.psn, setup_.window);
  }
  for (const auto& edit : p.edits) {
    edit(f);
  }
  wire::complete(f);
  if (p.pad_length) {
    change_pad(f, *p.pad_length);
  }
  for (const auto& spoil : p.spoils) {
    spoil(f);
  }
  return f;
}

Bytes Script::frame_of(const Pkt& p) const {
  Bytes frame = wire::emit(fields_of(p, true));
  for (const auto& spoil : p.raw_spoils) {
    spoil(frame);
  }
  return frame;
}

void Script::inject(std::initializer_list<Pkt> packets, Where at) {
  inject(std::vector<Pkt>(packets), at);
}

void Script::inject(const std::vector<Pkt>& packets, Where at) {
  std::string what = "inject";
  for (const Pkt& p : packets) {
    what += " [" + in_words(fields_of(p, true)) + "]";
  }
  step(std::move(what), at);
  for (const Pkt& p : packets) {
    port_->put(frame_of(p));
  }
  settle();
}

void Script::inject_frame(Bytes frame, Where at) {
  step("inject a frame", at);
  port_->put(std::move(frame));
  settle();
}

}  // namespace roce::script
