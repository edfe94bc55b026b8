// Link and network addresses as text, the way people and configuration files write them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/address.h"

namespace roce {

/// An own IPv4 address and the length of its network's prefix, 0..32.
struct Ipv4Prefix {
  Ipv4Address address;
  uint8_t length = 32;

  friend constexpr auto operator<=>(const Ipv4Prefix&, const Ipv4Prefix&) = default;
};

/// An own IPv6 address and the length of its network's prefix, 0..128.
struct Ipv6Prefix {
  Ipv6Address address;
  uint8_t length = 128;

  friend constexpr auto operator<=>(const Ipv6Prefix&, const Ipv6Prefix&) = default;
};

/// Reads "192.0.2.1"; nothing when `text` is anything else.
std::optional<Ipv4Address> parse_ipv4(std::string_view text);

/// Reads "2001:db8::1"; nothing when `text` is anything else.
std::optional<Ipv6Address> parse_ipv6(std::string_view text);

/// Reads "192.0.2.1/24"; without "/n" the length is 32.
std::optional<Ipv4Prefix> parse_ipv4_prefix(std::string_view text);

/// Reads "2001:db8::1/64"; without "/n" the length is 128.
std::optional<Ipv6Prefix> parse_ipv6_prefix(std::string_view text);

/// Reads "02:00:00:00:00:01": six pairs of hexadecimal digits.
std::optional<MacAddress> parse_mac(std::string_view text);

/// Reads an IPv4 or IPv6 address into the GID that names it.
std::optional<Gid> parse_gid(std::string_view text);

std::string text_of(const Ipv4Address& address);
std::string text_of(const Ipv6Address& address);
std::string text_of(const Ipv4Prefix& prefix);
std::string text_of(const Ipv6Prefix& prefix);
std::string text_of(const MacAddress& mac);
/// As an IP address: "192.0.2.1" for an IPv4-mapped GID, else the IPv6 form.
std::string text_of(const Gid& gid);

}  // namespace roce
