// Parsing of received frames into Packet: one small function a layer, each checks its length first.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire/packet.h"

#include <cstring>

#include "base/bytes.h"
#include "wire/bth.h"
#include "wire/ethernet.h"
#include "wire/icrc.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/udp.h"

namespace roce::wire {
namespace {

constexpr ParseResult kOther{FrameKind::other, DropReason::none};

constexpr ParseResult bad(DropReason reason) {
  return {FrameKind::bad, reason};
}

/// The one's complement sum does not care for byte order or word size (RFC 1071), so the 20 bytes
/// are summed as five native words.
bool ipv4_checksum_ok(const uint8_t* p) {
  uint64_t sum = 0;
  for (size_t i = 0; i < Ipv4Header::kSize; i += 4) {
    uint32_t word;
    std::memcpy(&word, p + i, sizeof word);
    sum += word;
  }
  sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

bool transport_spoken(uint8_t opcode) {
  const Transport t = transport_of(opcode);
  return t == Transport::rc || t == Transport::uc || t == Transport::ud || opcode == kCnpOpcode;
}

/// `len`: bytes at `bth` including pad and ICRC.
ParseResult parse_bth(const uint8_t* bth, uint32_t len, Packet& packet) {
  if (len < Bth::kSize + kIcrcSize) {
    return bad(DropReason::bth_too_short);
  }
  const uint8_t opcode = bth[Bth::kOpcodeAt];
  const uint8_t flags = bth[Bth::kFlagsAt];
  if ((flags & 0x0f) != 0) {
    return bad(DropReason::transport_version);
  }
  if (!transport_spoken(opcode)) {
    return bad(DropReason::unknown_opcode);
  }
  const OpcodeInfo& info = kOpcodes[opcode];
  const uint8_t pad = flags >> Bth::kPadShift & 3;
  if (len < info.headers_len + pad + kIcrcSize) {
    return bad(DropReason::headers_too_short);
  }
  packet.bth = bth;
  packet.payload = bth + info.headers_len;
  packet.info = &info;
  packet.payload_len = static_cast<uint32_t>(len - info.headers_len - pad - kIcrcSize);
  packet.dest_qp = load_be24(bth + Bth::kDestQpAt);
  packet.psn = Psn(load_be24(bth + Bth::kPsnAt));
  packet.pkey = load_be<uint16_t>(bth + 2);
  packet.opcode = opcode;
  packet.pad_count = pad;
  packet.solicited = (flags & Bth::kSolicitedBit) != 0;
  packet.ack_req = (bth[Bth::kAckReqAt] & Bth::kAckReqBit) != 0;
  return {FrameKind::roce, DropReason::none};
}

/// `len`: bytes of the IP payload.
ParseResult parse_udp(const uint8_t* p, uint32_t len, Packet& packet) {
  if (len < UdpHeader::kSize) {
    return bad(DropReason::udp_length);
  }
  if (load_be<uint16_t>(p + 2) != kRoceUdpPort) {
    return bad(DropReason::udp_port);
  }
  if (load_be<uint16_t>(p + 4) != len) {
    return bad(DropReason::udp_length);
  }
  return parse_bth(p + UdpHeader::kSize, len - static_cast<uint32_t>(UdpHeader::kSize), packet);
}

ParseResult parse_ipv4(std::span<const uint8_t> l3, Packet& packet) {
  const uint8_t* p = l3.data();
  if (l3.size() < Ipv4Header::kSize) {
    return bad(DropReason::frame_too_short);
  }
  if (p[0] >> 4 != 4) {
    return bad(DropReason::ip_version);
  }
  if ((p[0] & 0x0f) != Ipv4Header::kSize / 4) {
    return bad(DropReason::ip_header_length);
  }
  if (!ipv4_checksum_ok(p)) {
    return bad(DropReason::ip_checksum);
  }
  const uint32_t total = load_be<uint16_t>(p + 2);
  if (total < Ipv4Header::kSize || total > l3.size()) {
    return bad(DropReason::ip_total_length);
  }
  if ((load_be<uint16_t>(p + 6) & Ipv4Header::kFragmentMask) != 0) {
    return bad(DropReason::ip_fragment);
  }
  if (p[9] != kIpProtocolUdp) {
    return p[9] == kIpProtocolIcmp ? kOther : bad(DropReason::ip_protocol);
  }
  packet.ipv6 = false;
  packet.l3 = p;
  packet.l3_len = total;
  return parse_udp(p + Ipv4Header::kSize, total - static_cast<uint32_t>(Ipv4Header::kSize), packet);
}

ParseResult parse_ipv6(std::span<const uint8_t> l3, Packet& packet) {
  const uint8_t* p = l3.data();
  if (l3.size() < Ipv6Header::kSize) {
    return bad(DropReason::frame_too_short);
  }
  if (p[0] >> 4 != 6) {
    return bad(DropReason::ip_version);
  }
  const uint32_t payload = load_be<uint16_t>(p + 4);
  if (payload > l3.size() - Ipv6Header::kSize) {
    return bad(DropReason::ip_total_length);
  }
  if (p[6] != kIpProtocolUdp) {
    return p[6] == kIpProtocolIcmpv6 ? kOther : bad(DropReason::ip_protocol);
  }
  packet.ipv6 = true;
  packet.l3 = p;
  packet.l3_len = payload + static_cast<uint32_t>(Ipv6Header::kSize);
  return parse_udp(p + Ipv6Header::kSize, payload, packet);
}

}  // namespace

Gid Packet::gid_at(size_t offset) const {
  if (!ipv6) {
    Ipv4Address a;
    std::memcpy(a.bytes.data(), l3 + offset, a.bytes.size());
    return Gid::from(a);
  }
  Gid g;
  std::memcpy(g.bytes.data(), l3 + offset, g.bytes.size());
  return g;
}

ParseResult parse(std::span<const uint8_t> frame, Packet& packet) {
  if (frame.size() < EthernetHeader::kSize) {
    return bad(DropReason::frame_too_short);
  }
  auto ethertype = load_be<uint16_t>(frame.data() + 12);
  size_t l3_at = EthernetHeader::kSize;
  if (ethertype == kEtherTypeVlan) {
    if (frame.size() < EthernetHeader::kSize + VlanTag::kSize) {
      return bad(DropReason::frame_too_short);
    }
    ethertype = load_be<uint16_t>(frame.data() + 16);
    l3_at += VlanTag::kSize;
  }
  switch (ethertype) {
    case kEtherTypeIpv4:
      return parse_ipv4(frame.subspan(l3_at), packet);
    case kEtherTypeIpv6:
      return parse_ipv6(frame.subspan(l3_at), packet);
    case kEtherTypeArp:
      return kOther;
    default:
      return bad(DropReason::unknown_ethertype);
  }
}

}  // namespace roce::wire
