// Link and network addresses as plain values. A GID is an IPv6 address or an IPv4-mapped one
// (spec/protocol-and-verbs.md 5.4).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>

namespace roce {

struct MacAddress {
  std::array<uint8_t, 6> bytes{};

  constexpr bool is_multicast() const { return (bytes[0] & 1) != 0; }
  friend constexpr auto operator<=>(const MacAddress&, const MacAddress&) = default;
};

inline constexpr MacAddress kBroadcastMac{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

struct Ipv4Address {
  std::array<uint8_t, 4> bytes{};

  friend constexpr auto operator<=>(const Ipv4Address&, const Ipv4Address&) = default;
};

struct Ipv6Address {
  std::array<uint8_t, 16> bytes{};

  constexpr bool is_link_local() const { return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80; }
  constexpr bool is_multicast() const { return bytes[0] == 0xff; }
  friend constexpr auto operator<=>(const Ipv6Address&, const Ipv6Address&) = default;
};

/// 16 bytes naming an endpoint: an IPv6 address, or ::ffff:a.b.c.d for an IPv4 one.
struct Gid {
  std::array<uint8_t, 16> bytes{};

  static constexpr Gid from(const Ipv4Address& a) {
    Gid g;
    g.bytes[10] = g.bytes[11] = 0xff;
    std::copy(a.bytes.begin(), a.bytes.end(), g.bytes.begin() + 12);
    return g;
  }
  static constexpr Gid from(const Ipv6Address& a) { return Gid{a.bytes}; }

  constexpr bool is_ipv4() const {
    return std::all_of(bytes.begin(), bytes.begin() + 10, [](uint8_t b) { return b == 0; }) &&
           bytes[10] == 0xff && bytes[11] == 0xff;
  }
  /// Requires is_ipv4().
  constexpr Ipv4Address ipv4() const {
    return Ipv4Address{{bytes[12], bytes[13], bytes[14], bytes[15]}};
  }
  constexpr Ipv6Address ipv6() const { return Ipv6Address{bytes}; }
  constexpr bool is_zero() const {
    return std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b == 0; });
  }
  friend constexpr auto operator<=>(const Gid&, const Gid&) = default;
};

}  // namespace roce
