// LocalAddresses: who the owner of a port is on its link, and the addresses that follow from an
// address by arithmetic alone. A value; set up once, then read by one engine's thread.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/address.h"
#include "base/result.h"

namespace roce {

inline constexpr Ipv6Address kAllNodes{{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

/// fe80:: with the modified EUI-64 of the MAC address as interface identifier (RFC 4291).
constexpr Ipv6Address link_local_address(const MacAddress& mac) {
  const auto& m = mac.bytes;
  return {{0xfe, 0x80, 0, 0, 0, 0, 0, 0, static_cast<uint8_t>(m[0] ^ 2), m[1], m[2], 0xff, 0xfe,
           m[3], m[4], m[5]}};
}

/// The multicast address that the owner of `a` listens to for solicitations: ff02::1:ffXX:XXXX.
constexpr Ipv6Address solicited_node_address(const Ipv6Address& a) {
  return {{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a.bytes[13], a.bytes[14], a.bytes[15]}};
}

/// 33:33 and the last four bytes of a multicast address (RFC 2464).
constexpr MacAddress multicast_mac(const Ipv6Address& a) {
  return {{0x33, 0x33, a.bytes[12], a.bytes[13], a.bytes[14], a.bytes[15]}};
}

/// 01:00:5e and the last 23 bits of a multicast address (RFC 1112).
constexpr MacAddress multicast_mac(const Ipv4Address& a) {
  return {{0x01, 0x00, 0x5e, static_cast<uint8_t>(a.bytes[1] & 0x7f), a.bytes[2], a.bytes[3]}};
}

constexpr bool is_multicast(const Ipv4Address& a) {
  return (a.bytes[0] & 0xf0) == 0xe0;
}

constexpr bool is_multicast(const Gid& gid) {
  return gid.is_ipv4() ? is_multicast(gid.ipv4()) : gid.ipv6().is_multicast();
}

/// Requires is_multicast(gid).
constexpr MacAddress multicast_mac(const Gid& gid) {
  return gid.is_ipv4() ? multicast_mac(gid.ipv4()) : multicast_mac(gid.ipv6());
}

/// True for what a single node can own: neither multicast nor unspecified nor the broadcast
/// address.
constexpr bool is_unicast(const Gid& gid) {
  constexpr Ipv4Address kBroadcast{{255, 255, 255, 255}};
  return !is_multicast(gid) && !gid.is_zero() && gid != Gid::from(Ipv4Address{}) &&
         gid != Gid::from(kBroadcast);
}

/// True for the address of a single network interface.
constexpr bool is_unicast(const MacAddress& mac) {
  return !mac.is_multicast() && mac != MacAddress{};
}

struct LocalAddresses {
  static constexpr size_t kMaxAddresses = 16;
  static constexpr uint16_t kMaxVlan = 4094;

  /// An own address and how many of its leading bits all nodes of its link have in common.
  struct Entry {
    Gid gid;
    uint8_t prefix_length = 0;  ///< 0..32 for IPv4, 0..128 for IPv6
  };

  MacAddress mac;
  std::optional<uint16_t> vlan;  ///< 1..kMaxVlan: all frames carry this tag; none: they carry none

  /// Adds an own address. Errors: EINVAL (not a unicast address, prefix too long), EEXIST, ENOSPC.
  Status add(const Gid& gid, unsigned prefix_length) {
    const unsigned longest = gid.is_ipv4() ? 32 : 128;
    if (!is_unicast(gid)) {
      return failure(EINVAL, "a local address must be a unicast address; give the port's own one");
    }
    if (prefix_length > longest) {
      return failure(EINVAL, "a prefix of " + std::to_string(prefix_length) +
                                 " bits is longer than " + std::to_string(longest) +
                                 ", the length of the address; give a shorter one");
    }
    if (owns(gid)) {
      return failure(EEXIST, "the local address is there already; give each address once");
    }
    if (count_ == kMaxAddresses) {
      return failure(ENOSPC, "a port has at most " + std::to_string(kMaxAddresses) +
                                 " local addresses; remove some");
    }
    entries_[count_++] = {gid, static_cast<uint8_t>(prefix_length)};
    return {};
  }

  std::span<const Entry> entries() const { return {entries_.data(), count_}; }

  bool owns(const Gid& gid) const {
    return std::any_of(entries().begin(), entries().end(),
                       [&](const Entry& e) { return e.gid == gid; });
  }

  /// True when packets to the IPv6 address concern this node: an own address, the solicited-node
  /// address of one, or all nodes.
  bool listens_to(const Ipv6Address& a) const {
    return a == kAllNodes || std::any_of(entries().begin(), entries().end(), [&](const Entry& e) {
             return !e.gid.is_ipv4() &&
                    (e.gid.ipv6() == a || solicited_node_address(e.gid.ipv6()) == a);
           });
  }

  /// True when the peer is reached without a gateway.
  bool on_link(const Gid& peer) const {
    return (!peer.is_ipv4() && peer.ipv6().is_link_local()) ||
           std::any_of(entries().begin(), entries().end(),
                       [&](const Entry& e) { return same_prefix(e, peer); });
  }

  /// The own address to talk to `peer` from: one of the same prefix if there is any, else the first
  /// of the same family and scope; none when there is no such.
  std::optional<Gid> source_for(const Gid& peer) const {
    std::optional<Gid> best;
    for (const Entry& e : entries()) {
      if (same_prefix(e, peer)) {
        return e.gid;
      }
      if (!best && e.gid.is_ipv4() == peer.is_ipv4() &&
          e.gid.ipv6().is_link_local() == peer.ipv6().is_link_local()) {
        best = e.gid;
      }
    }
    return best;
  }

 private:
  static bool same_prefix(const Entry& e, const Gid& peer) {
    if (e.gid.is_ipv4() != peer.is_ipv4()) {
      return false;
    }
    const size_t bits = e.prefix_length + (peer.is_ipv4() ? size_t{96} : size_t{0});
    const size_t whole = bits / 8;
    if (!std::equal(peer.bytes.begin(), peer.bytes.begin() + whole, e.gid.bytes.begin())) {
      return false;
    }
    const unsigned rest = bits % 8;
    return rest == 0 || ((peer.bytes[whole] ^ e.gid.bytes[whole]) >> (8 - rest)) == 0;
  }

  std::array<Entry, kMaxAddresses> entries_{};
  size_t count_ = 0;
};

}  // namespace roce
