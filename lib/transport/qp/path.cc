// Building header templates, and patching the two or three lengths that differ between packets.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/path.h"

#include <cstring>

#include "base/bytes.h"
#include "wire/ethernet.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/udp.h"

namespace roce {

namespace {

/// Of two IP headers, with two addresses of kSize bytes from kAt on: the source of each is where
/// the other goes to.
template <size_t kAt, size_t kSize>
bool crossed(const uint8_t* theirs, const uint8_t* ours) {
  return std::memcmp(theirs + kAt, ours + kAt + kSize, kSize) == 0 &&
         std::memcmp(theirs + kAt + kSize, ours + kAt, kSize) == 0;
}

}  // namespace

static_assert(wire::EthernetHeader::kSize + wire::VlanTag::kSize + wire::Ipv6Header::kSize +
                  wire::UdpHeader::kSize + wire::Bth::kSize <=
              Path::kTemplateBytes);

uint16_t udp_source_port(uint32_t flow_label, uint32_t local_qpn, uint32_t remote_qpn) {
  uint32_t label = flow_label & 0xfffff;
  if (label == 0) {
    uint64_t v = uint64_t{local_qpn} * remote_qpn;
    v ^= v >> 20;
    v ^= v >> 40;
    label = static_cast<uint32_t>(v) & 0xfffff;
  }
  return static_cast<uint16_t>(((label & 0x3fff) ^ ((label & 0xfc000) >> 14)) | 0xc000);
}

Path::Path(const PathSpec& spec)
    : ipv6_(!spec.destination.is_ipv4()),
      destination_(spec.destination == spec.source       ? Destination::local
                   : spec.destination_mac.is_multicast() ? Destination::group
                                                         : Destination::port) {
  uint8_t* const p = bytes_.data();
  const uint16_t ip_type = ipv6_ ? wire::kEtherTypeIpv6 : wire::kEtherTypeIpv4;
  wire::EthernetHeader{spec.destination_mac, spec.source_mac,
                       spec.vlan_id ? wire::kEtherTypeVlan : ip_type}
      .emit(p);
  size_t at = wire::EthernetHeader::kSize;
  if (spec.vlan_id) {
    wire::VlanTag{spec.vlan_priority, false, *spec.vlan_id, ip_type}.emit(p + at);
    at += wire::VlanTag::kSize;
  }
  l3_at_ = static_cast<uint8_t>(at);
  if (ipv6_) {
    wire::Ipv6Header ip;
    ip.traffic_class = spec.traffic_class;
    ip.flow_label = spec.flow_label & 0xfffff;
    ip.hop_limit = spec.hop_limit;
    ip.source = spec.source.ipv6();
    ip.destination = spec.destination.ipv6();
    ip.emit(p + at);
    at += wire::Ipv6Header::kSize;
  } else {
    wire::Ipv4Header ip;
    ip.tos = spec.traffic_class;
    ip.ttl = spec.hop_limit;
    ip.source = spec.source.ipv4();
    ip.destination = spec.destination.ipv4();
    ip.emit(p + at);
    ip_sum_ = wire::checksum_add(0, p + at, wire::Ipv4Header::kSize);
    at += wire::Ipv4Header::kSize;
  }
  udp_at_ = static_cast<uint8_t>(at);
  wire::UdpHeader udp;
  udp.source_port = udp_source_port(spec.flow_label, spec.local_qpn, spec.remote_qpn);
  udp.emit(p + at);
  at += wire::UdpHeader::kSize;
  bth_at_ = static_cast<uint8_t>(at);
  wire::Bth bth;
  bth.pkey = spec.pkey;
  bth.dest_qp = spec.remote_qpn;
  bth.emit(p + at);
}

void Path::write_headers(uint8_t* frame, uint32_t after_bth) const {
  std::memcpy(frame, bytes_.data(), kTemplateBytes);
  const auto udp_length =
      static_cast<uint32_t>(wire::UdpHeader::kSize + wire::Bth::kSize) + after_bth;
  store_be<uint16_t>(frame + udp_at_ + 4, static_cast<uint16_t>(udp_length));
  if (ipv6_) {
    store_be<uint16_t>(frame + l3_at_ + 4, static_cast<uint16_t>(udp_length));
    return;
  }
  const uint32_t total = udp_length + static_cast<uint32_t>(wire::Ipv4Header::kSize);
  store_be<uint16_t>(frame + l3_at_ + 2, static_cast<uint16_t>(total));
  store_be<uint16_t>(frame + l3_at_ + 10, wire::checksum_finish(ip_sum_ + total));
}

bool Path::matches(const wire::Packet& packet) const {
  if (packet.ipv6 != ipv6_) {
    return false;
  }
  const uint8_t* const ours = bytes_.data() + l3_at_;
  return ipv6_ ? crossed<8, 16>(packet.l3, ours) : crossed<12, 4>(packet.l3, ours);
}

}  // namespace roce
