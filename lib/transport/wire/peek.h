// What can be read off a frame before it is checked: whom it seems to be for. A hint for fetching
// memory and for choosing an engine; the parser (wire/packet.h) judges.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "wire/bth.h"
#include "wire/ethernet.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/udp.h"

namespace roce::wire {

/// Where the IP header begins, behind the VLAN tag if there is one.
inline size_t peek_ip(std::span<const uint8_t> frame) {
  const bool tagged = frame.size() >= EthernetHeader::kSize &&
                      load_be<uint16_t>(&frame[EthernetHeader::kSize - 2]) == kEtherTypeVlan;
  return EthernetHeader::kSize + (tagged ? VlanTag::kSize : 0);
}

/// The BTH of what looks like a RoCEv2 packet: UDP to port 4791 behind an IPv4 header without
/// options or an IPv6 header without extensions, neither of which the parser accepts. Else nullptr.
inline const uint8_t* peek_bth(std::span<const uint8_t> frame) {
  const size_t ip = peek_ip(frame);
  if (frame.size() <= ip) {
    return nullptr;
  }
  constexpr size_t kProtocolAt4 = 9;
  constexpr size_t kProtocolAt6 = 6;
  const auto ethertype = load_be<uint16_t>(&frame[ip - 2]);
  const bool ipv6 = ethertype == kEtherTypeIpv6;
  const size_t udp = ip + (ipv6 ? Ipv6Header::kSize : Ipv4Header::kSize);
  const size_t bth = udp + UdpHeader::kSize;
  if ((!ipv6 && ethertype != kEtherTypeIpv4) || frame.size() < bth + Bth::kSize ||
      frame[ip + (ipv6 ? kProtocolAt6 : kProtocolAt4)] != kIpProtocolUdp ||
      load_be<uint16_t>(&frame[udp + 2]) != kRoceUdpPort) {
    return nullptr;
  }
  return &frame[bth];
}

/// The destination QPN of such a packet.
inline std::optional<uint32_t> peek_dest_qp(std::span<const uint8_t> frame) {
  const uint8_t* const bth = peek_bth(frame);
  return bth != nullptr ? std::optional(load_be24(bth + Bth::kDestQpAt)) : std::nullopt;
}

}  // namespace roce::wire
