// Decoding and encoding of whole frames by walking the opcode's list of headers.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire/fields.h"

#include <cstring>

#include "wire/icrc.h"

namespace roce::wire {
namespace {

/// Calls visit(header) for each extension header of the opcode, in wire order.
template <class F, class Visit>
void for_each_extension(F& f, const OpcodeInfo& info, Visit visit) {
  if (info.deth) {
    visit(f.deth);
  }
  if (info.feth) {
    visit(f.feth);
  }
  if (info.reth) {
    visit(f.reth);
  }
  if (info.aeth) {
    visit(f.aeth);
  }
  if (info.atomic_eth) {
    visit(f.atomic_eth);
  }
  if (info.atomic_ack_eth) {
    visit(f.atomic_ack_eth);
  }
  if (info.imm) {
    visit(f.imm);
  }
  if (info.ieth) {
    visit(f.ieth);
  }
}

template <class Header>
void append(std::vector<uint8_t>& out, const Header& header) {
  out.resize(out.size() + Header::kSize);
  header.emit(out.data() + out.size() - Header::kSize);
}

size_t l3_offset(const Fields& f) {
  return EthernetHeader::kSize + (f.vlan ? VlanTag::kSize : 0);
}

}  // namespace

Fields decode(std::span<const uint8_t> frame, const Packet& packet) {
  Fields f;
  f.ethernet = EthernetHeader::parse(frame.data());
  if (f.ethernet.ethertype == kEtherTypeVlan) {
    f.vlan = VlanTag::parse(frame.data() + EthernetHeader::kSize);
  }
  if (packet.ipv6) {
    f.ip = Ipv6Header::parse(packet.l3);
  } else {
    f.ip = Ipv4Header::parse(packet.l3);
  }
  f.udp = UdpHeader::parse(packet.bth - UdpHeader::kSize);
  f.bth = Bth::parse(packet.bth);
  const uint8_t* at = packet.extensions();
  for_each_extension(f, *packet.info, [&at](auto& header) {
    header = std::remove_reference_t<decltype(header)>::parse(at);
    at += header.kSize;
  });
  const uint8_t* pad = packet.payload + packet.payload_len;
  f.payload.assign(packet.payload, pad);
  f.pad.assign(pad, pad + packet.pad_count);
  std::memcpy(&f.icrc, pad + packet.pad_count, sizeof f.icrc);
  return f;
}

std::vector<uint8_t> emit(const Fields& f) {
  std::vector<uint8_t> out;
  append(out, f.ethernet);
  if (f.vlan) {
    append(out, *f.vlan);
  }
  std::visit([&out](const auto& ip) { append(out, ip); }, f.ip);
  append(out, f.udp);
  append(out, f.bth);
  for_each_extension(f, kOpcodes[f.bth.opcode],
                     [&out](const auto& header) { append(out, header); });
  out.insert(out.end(), f.payload.begin(), f.payload.end());
  out.insert(out.end(), f.pad.begin(), f.pad.end());
  out.resize(out.size() + kIcrcSize);
  std::memcpy(out.data() + out.size() - kIcrcSize, &f.icrc, kIcrcSize);
  return out;
}

void complete(Fields& f) {
  f.bth.pad_count = static_cast<uint8_t>(-f.payload.size() & 3);
  f.pad.assign(f.bth.pad_count, 0);
  const size_t udp_length = UdpHeader::kSize + kOpcodes[f.bth.opcode].headers_len +
                            f.payload.size() + f.pad.size() + kIcrcSize;
  f.udp.length = static_cast<uint16_t>(udp_length);
  if (auto* v6 = std::get_if<Ipv6Header>(&f.ip)) {
    v6->payload_length = f.udp.length;
  } else {
    auto& v4 = std::get<Ipv4Header>(f.ip);
    v4.total_length = static_cast<uint16_t>(Ipv4Header::kSize + udp_length);
    v4.checksum = 0;
    uint8_t bytes[Ipv4Header::kSize];
    v4.emit(bytes);
    v4.checksum = Ipv4Header::checksum_of(bytes);
  }
  const std::vector<uint8_t> frame = emit(f);
  const size_t at = l3_offset(f);
  const size_t len = frame.size() - at - kIcrcSize;
  f.icrc = icrc_finish(icrc_of_headers(frame.data() + at, len));
}

}  // namespace roce::wire
