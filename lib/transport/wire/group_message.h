// What a listener says about a multicast group: IGMPv2 (RFC 2236) and MLDv1 (RFC 2710) messages,
// and the Router Alert options that go before them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/address.h"
#include "base/bytes.h"

namespace roce::wire {

inline constexpr uint8_t kIpProtocolHopByHop = 0;
inline constexpr uint8_t kIpProtocolIgmp = 2;

/// IPv4 option (RFC 2113) and IPv6 hop-by-hop header (RFC 2711, padded; without its next-header
/// byte, which is ICMPv6) that ask routers to look into the packet.
inline constexpr std::array<uint8_t, 4> kRouterAlertIpv4 = {0x94, 4, 0, 0};
inline constexpr std::array<uint8_t, 8> kRouterAlertIpv6 = {58, 0, 5, 2, 0, 0, 1, 0};

struct IgmpMessage {
  static constexpr size_t kSize = 8;
  static constexpr uint8_t kReport = 0x16;
  static constexpr uint8_t kLeave = 0x17;

  uint8_t type = kReport;
  uint8_t max_response = 0;  ///< tenths of a second; of queries only
  uint16_t checksum = 0;     ///< one's complement, over these 8 bytes
  Ipv4Address group;

  static IgmpMessage parse(const uint8_t* p) {
    IgmpMessage m{p[0], p[1], load_be<uint16_t>(p + 2), {}};
    std::memcpy(m.group.bytes.data(), p + 4, m.group.bytes.size());
    return m;
  }
  void emit(uint8_t* p) const {
    p[0] = type;
    p[1] = max_response;
    store_be<uint16_t>(p + 2, checksum);
    std::memcpy(p + 4, group.bytes.data(), group.bytes.size());
  }
};

struct MldMessage {
  static constexpr size_t kSize = 24;
  static constexpr uint8_t kReport = 131;
  static constexpr uint8_t kDone = 132;

  uint8_t type = kReport;
  uint8_t code = 0;
  uint16_t checksum = 0;      ///< as of every ICMPv6 message
  uint16_t max_response = 0;  ///< milliseconds; of queries only
  Ipv6Address group;

  static MldMessage parse(const uint8_t* p) {
    MldMessage m{p[0], p[1], load_be<uint16_t>(p + 2), load_be<uint16_t>(p + 4), {}};
    std::memcpy(m.group.bytes.data(), p + 8, m.group.bytes.size());
    return m;
  }
  void emit(uint8_t* p) const {
    p[0] = type;
    p[1] = code;
    store_be<uint16_t>(p + 2, checksum);
    store_be<uint16_t>(p + 4, max_response);
    store_be<uint16_t>(p + 6, 0);
    std::memcpy(p + 8, group.bytes.data(), group.bytes.size());
  }
};

}  // namespace roce::wire
