// ARP packet for IPv4 over Ethernet (RFC 826).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/address.h"
#include "base/bytes.h"

namespace roce::wire {

inline constexpr uint16_t kArpRequest = 1;
inline constexpr uint16_t kArpReply = 2;

struct ArpPacket {
  static constexpr size_t kSize = 28;

  uint16_t hardware_type = 1;       ///< 1: Ethernet
  uint16_t protocol_type = 0x0800;  ///< an EtherType
  uint8_t hardware_length = 6;      ///< bytes of a link address
  uint8_t protocol_length = 4;      ///< bytes of a network address
  uint16_t operation = kArpRequest;
  MacAddress sender_mac;
  Ipv4Address sender_ip;
  MacAddress target_mac;
  Ipv4Address target_ip;

  /// The addresses are where this struct says only if this holds.
  bool is_ipv4_over_ethernet() const {
    return hardware_type == 1 && protocol_type == 0x0800 && hardware_length == 6 &&
           protocol_length == 4;
  }

  static ArpPacket parse(const uint8_t* p) {
    ArpPacket a;
    a.hardware_type = load_be<uint16_t>(p);
    a.protocol_type = load_be<uint16_t>(p + 2);
    a.hardware_length = p[4];
    a.protocol_length = p[5];
    a.operation = load_be<uint16_t>(p + 6);
    std::memcpy(a.sender_mac.bytes.data(), p + 8, 6);
    std::memcpy(a.sender_ip.bytes.data(), p + 14, 4);
    std::memcpy(a.target_mac.bytes.data(), p + 18, 6);
    std::memcpy(a.target_ip.bytes.data(), p + 24, 4);
    return a;
  }

  void emit(uint8_t* p) const {
    store_be<uint16_t>(p, hardware_type);
    store_be<uint16_t>(p + 2, protocol_type);
    p[4] = hardware_length;
    p[5] = protocol_length;
    store_be<uint16_t>(p + 6, operation);
    std::memcpy(p + 8, sender_mac.bytes.data(), 6);
    std::memcpy(p + 14, sender_ip.bytes.data(), 4);
    std::memcpy(p + 18, target_mac.bytes.data(), 6);
    std::memcpy(p + 24, target_ip.bytes.data(), 4);
  }
};

}  // namespace roce::wire
