// The few ICMP messages that an endpoint speaks: echo of ICMPv4 (RFC 792) and of ICMPv6 (RFC 4443),
// neighbour solicitation and advertisement (RFC 4861).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/address.h"
#include "base/bytes.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace roce::wire {

inline constexpr uint8_t kIcmpEchoReply = 0;
inline constexpr uint8_t kIcmpEchoRequest = 8;
inline constexpr uint8_t kIcmpv6EchoRequest = 128;
inline constexpr uint8_t kIcmpv6EchoReply = 129;
inline constexpr uint8_t kIcmpv6NeighbourSolicitation = 135;
inline constexpr uint8_t kIcmpv6NeighbourAdvertisement = 136;

/// Hop limit of all neighbour messages: one that was forwarded has less, and is not believed.
inline constexpr uint8_t kNeighbourHopLimit = 255;

/// Offset of the checksum in every ICMPv4 and ICMPv6 message.
inline constexpr size_t kIcmpChecksumAt = 2;

/// Echo request or reply of either version; data of any length follows.
struct IcmpEcho {
  static constexpr size_t kSize = 8;

  uint8_t type = kIcmpEchoRequest;
  uint8_t code = 0;
  uint16_t checksum = 0;
  uint16_t identifier = 0;
  uint16_t sequence = 0;

  static IcmpEcho parse(const uint8_t* p) {
    return {p[0], p[1], load_be<uint16_t>(p + 2), load_be<uint16_t>(p + 4),
            load_be<uint16_t>(p + 6)};
  }

  void emit(uint8_t* p) const {
    p[0] = type;
    p[1] = code;
    store_be<uint16_t>(p + 2, checksum);
    store_be<uint16_t>(p + 4, identifier);
    store_be<uint16_t>(p + 6, sequence);
  }
};

/// Neighbour solicitation or advertisement, without its options. The flags are those of an
/// advertisement; a solicitation has them all clear.
struct NeighbourMessage {
  static constexpr size_t kSize = 24;

  uint8_t type = kIcmpv6NeighbourSolicitation;
  uint8_t code = 0;
  uint16_t checksum = 0;
  bool router = false;
  bool solicited = false;  ///< an answer to a solicitation
  bool override = false;   ///< to replace what the receiver believes
  Ipv6Address target;

  static NeighbourMessage parse(const uint8_t* p) {
    NeighbourMessage m;
    m.type = p[0];
    m.code = p[1];
    m.checksum = load_be<uint16_t>(p + 2);
    m.router = (p[4] & 0x80) != 0;
    m.solicited = (p[4] & 0x40) != 0;
    m.override = (p[4] & 0x20) != 0;
    std::memcpy(m.target.bytes.data(), p + 8, 16);
    return m;
  }

  void emit(uint8_t* p) const {
    p[0] = type;
    p[1] = code;
    store_be<uint16_t>(p + 2, checksum);
    const int flags = (router ? 0x80 : 0) | (solicited ? 0x40 : 0) | (override ? 0x20 : 0);
    store_be<uint32_t>(p + 4, static_cast<uint32_t>(flags) << 24);
    std::memcpy(p + 8, target.bytes.data(), 16);
  }
};

/// Option that carries an Ethernet address.
struct LinkAddressOption {
  static constexpr size_t kSize = 8;
  static constexpr size_t kUnit = 8;     ///< options' lengths are counted in these bytes
  static constexpr uint8_t kSource = 1;  ///< of whoever sends the solicitation
  static constexpr uint8_t kTarget = 2;  ///< of the target that is advertised

  uint8_t type = kSource;
  uint8_t length = 1;  ///< units
  MacAddress mac;

  static LinkAddressOption parse(const uint8_t* p) {
    LinkAddressOption o;
    o.type = p[0];
    o.length = p[1];
    std::memcpy(o.mac.bytes.data(), p + 2, 6);
    return o;
  }

  void emit(uint8_t* p) const {
    p[0] = type;
    p[1] = length;
    std::memcpy(p + 2, mac.bytes.data(), 6);
  }
};

/// Checksum of the ICMPv4 message of `len` bytes at `p`: 0 over a right one, the value to store
/// over one whose checksum field is 0.
inline uint16_t icmp_checksum(const uint8_t* p, size_t len) {
  return checksum_finish(checksum_add(0, p, len));
}

/// The same for ICMPv6, whose checksum covers the addresses and the length as well.
inline uint16_t icmpv6_checksum(const Ipv6Address& source, const Ipv6Address& destination,
                                const uint8_t* p, size_t len) {
  uint32_t sum = checksum_add(0, source.bytes.data(), source.bytes.size());
  sum = checksum_add(sum, destination.bytes.data(), destination.bytes.size());
  sum += static_cast<uint32_t>(len) + kIpProtocolIcmpv6;
  return checksum_finish(checksum_add(sum, p, len));
}

}  // namespace roce::wire
