// Whole Ethernet frames of the small protocols, built from values: what LinkResponder sends.
// Stateless.
//
// Every function writes one frame at `out`, which has room for kMaxLinkFrame bytes, and returns its
// length. Frames come from the port's own Ethernet address, carry the configured VLAN tag if there
// is one, and are padded with zeros to kMinLinkFrame bytes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/address.h"
#include "net/local_addresses.h"
#include "wire/arp.h"
#include "wire/ethernet.h"
#include "wire/icmp.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace roce {

/// Shortest Ethernet frame without its check sequence.
inline constexpr size_t kMinLinkFrame = 60;

/// Largest IP packet of an echo reply in bytes; longer requests are not answered.
inline constexpr size_t kMaxEchoPacket = 1500;

inline constexpr size_t kMaxLinkFrame =
    wire::EthernetHeader::kSize + wire::VlanTag::kSize + kMaxEchoPacket;

size_t write_arp(const LocalAddresses& local, const MacAddress& destination,
                 const wire::ArpPacket& arp, uint8_t* out);

/// A solicitation or advertisement with our Ethernet address as its option.
struct NeighbourPacket {
  MacAddress destination_mac;
  Ipv6Address source;
  Ipv6Address destination;
  wire::NeighbourMessage message;  ///< checksum ignored
};
size_t write_neighbour(const LocalAddresses& local, const NeighbourPacket& packet, uint8_t* out);

/// That this node listens to a group, or does no longer. Frames are at most 96 bytes long.
struct GroupReport {
  Gid source;  ///< own address of the group's family; link-local for IPv6
  Gid group;
  bool joined = true;
};
size_t write_group_report(const LocalAddresses& local, const GroupReport& report, uint8_t* out);

/// Reply to the echo request `icmp` (message with its data) that came in the IP packet `ip`.
/// Requires a reply of at most kMaxEchoPacket bytes with its IP header.
size_t write_echo_reply(const LocalAddresses& local, const MacAddress& destination,
                        const wire::Ipv4Header& ip, std::span<const uint8_t> icmp, uint8_t* out);
size_t write_echo_reply(const LocalAddresses& local, const MacAddress& destination,
                        const wire::Ipv6Header& ip, std::span<const uint8_t> icmp, uint8_t* out);

}  // namespace roce
