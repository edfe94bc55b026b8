// Frames of ARP, neighbour discovery and echo, written header by header.
// SPDX-License-Identifier: BSD-3-Clause
#include "net/link_frames.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "wire/group_message.h"

namespace roce {
namespace {

size_t write_link_header(const LocalAddresses& local, const MacAddress& destination,
                         uint16_t ethertype, uint8_t* out) {
  wire::EthernetHeader ethernet{destination, local.mac, ethertype};
  if (!local.vlan) {
    ethernet.emit(out);
    return wire::EthernetHeader::kSize;
  }
  ethernet.ethertype = wire::kEtherTypeVlan;
  ethernet.emit(out);
  wire::VlanTag tag;
  tag.id = *local.vlan;
  tag.ethertype = ethertype;
  tag.emit(out + wire::EthernetHeader::kSize);
  return wire::EthernetHeader::kSize + wire::VlanTag::kSize;
}

size_t padded(uint8_t* out, size_t len) {
  if (len < kMinLinkFrame) {
    std::memset(out + len, 0, kMinLinkFrame - len);
  }
  return std::max(len, kMinLinkFrame);
}

void write_ipv6_checksum(const wire::Ipv6Header& ip, uint8_t* message, size_t len) {
  store_be<uint16_t>(message + wire::kIcmpChecksumAt, 0);
  store_be<uint16_t>(message + wire::kIcmpChecksumAt,
                     wire::icmpv6_checksum(ip.source, ip.destination, message, len));
}

/// The request's identifier, sequence and data under the type of a reply.
void write_echo_message(uint8_t type, std::span<const uint8_t> request, uint8_t* out) {
  ROCE_DCHECK(request.size() >= wire::IcmpEcho::kSize);
  std::memcpy(out, request.data(), request.size());
  out[0] = type;
  store_be<uint16_t>(out + wire::kIcmpChecksumAt, 0);
}

}  // namespace

size_t write_arp(const LocalAddresses& local, const MacAddress& destination,
                 const wire::ArpPacket& arp, uint8_t* out) {
  const size_t at = write_link_header(local, destination, wire::kEtherTypeArp, out);
  arp.emit(out + at);
  return padded(out, at + wire::ArpPacket::kSize);
}

size_t write_neighbour(const LocalAddresses& local, const NeighbourPacket& packet, uint8_t* out) {
  constexpr size_t kLength = wire::NeighbourMessage::kSize + wire::LinkAddressOption::kSize;
  const bool solicits = packet.message.type == wire::kIcmpv6NeighbourSolicitation;
  size_t at = write_link_header(local, packet.destination_mac, wire::kEtherTypeIpv6, out);
  wire::Ipv6Header ip;
  ip.payload_length = kLength;
  ip.next_header = wire::kIpProtocolIcmpv6;
  ip.hop_limit = wire::kNeighbourHopLimit;
  ip.source = packet.source;
  ip.destination = packet.destination;
  ip.emit(out + at);
  at += wire::Ipv6Header::kSize;
  packet.message.emit(out + at);
  wire::LinkAddressOption option;
  option.type = solicits ? wire::LinkAddressOption::kSource : wire::LinkAddressOption::kTarget;
  option.mac = local.mac;
  option.emit(out + at + wire::NeighbourMessage::kSize);
  write_ipv6_checksum(ip, out + at, kLength);
  return at + kLength;
}

namespace {

constexpr Ipv4Address kAllRouters4{{224, 0, 0, 2}};
constexpr Ipv6Address kAllRouters6{{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};

size_t write_igmp(const LocalAddresses& local, const GroupReport& report, uint8_t* out) {
  constexpr size_t kHeader = wire::Ipv4Header::kSize + wire::kRouterAlertIpv4.size();
  wire::Ipv4Header ip;
  ip.total_length = kHeader + wire::IgmpMessage::kSize;
  ip.ttl = 1;
  ip.protocol = wire::kIpProtocolIgmp;
  ip.source = report.source.ipv4();
  ip.destination = report.joined ? report.group.ipv4() : kAllRouters4;
  size_t at = write_link_header(local, multicast_mac(ip.destination), wire::kEtherTypeIpv4, out);
  ip.emit(out + at);
  out[at] = static_cast<uint8_t>(0x40 | kHeader / 4);
  std::memcpy(out + at + wire::Ipv4Header::kSize, wire::kRouterAlertIpv4.data(),
              wire::kRouterAlertIpv4.size());
  store_be<uint16_t>(out + at + 10,
                     wire::checksum_finish(wire::checksum_add(0, out + at, kHeader)));
  at += kHeader;
  wire::IgmpMessage message;
  message.type = report.joined ? wire::IgmpMessage::kReport : wire::IgmpMessage::kLeave;
  message.group = report.group.ipv4();
  message.emit(out + at);
  message.checksum = wire::icmp_checksum(out + at, wire::IgmpMessage::kSize);
  message.emit(out + at);
  return padded(out, at + wire::IgmpMessage::kSize);
}

size_t write_mld(const LocalAddresses& local, const GroupReport& report, uint8_t* out) {
  wire::Ipv6Header ip;
  ip.payload_length = wire::kRouterAlertIpv6.size() + wire::MldMessage::kSize;
  ip.next_header = wire::kIpProtocolHopByHop;
  ip.hop_limit = 1;
  ip.source = report.source.ipv6();
  ip.destination = report.joined ? report.group.ipv6() : kAllRouters6;
  size_t at = write_link_header(local, multicast_mac(ip.destination), wire::kEtherTypeIpv6, out);
  ip.emit(out + at);
  at += wire::Ipv6Header::kSize;
  std::memcpy(out + at, wire::kRouterAlertIpv6.data(), wire::kRouterAlertIpv6.size());
  at += wire::kRouterAlertIpv6.size();
  wire::MldMessage message;
  message.type = report.joined ? wire::MldMessage::kReport : wire::MldMessage::kDone;
  message.group = report.group.ipv6();
  message.emit(out + at);
  write_ipv6_checksum(ip, out + at, wire::MldMessage::kSize);
  return at + wire::MldMessage::kSize;
}

}  // namespace

size_t write_group_report(const LocalAddresses& local, const GroupReport& report, uint8_t* out) {
  return report.group.is_ipv4() ? write_igmp(local, report, out) : write_mld(local, report, out);
}

size_t write_echo_reply(const LocalAddresses& local, const MacAddress& destination,
                        const wire::Ipv4Header& ip, std::span<const uint8_t> icmp, uint8_t* out) {
  ROCE_DCHECK(wire::Ipv4Header::kSize + icmp.size() <= kMaxEchoPacket);
  size_t at = write_link_header(local, destination, wire::kEtherTypeIpv4, out);
  wire::Ipv4Header reply;
  reply.tos = ip.tos;
  reply.total_length = static_cast<uint16_t>(wire::Ipv4Header::kSize + icmp.size());
  reply.protocol = wire::kIpProtocolIcmp;
  reply.source = ip.destination;
  reply.destination = ip.source;
  reply.emit(out + at);
  reply.checksum = wire::Ipv4Header::checksum_of(out + at);
  reply.emit(out + at);
  at += wire::Ipv4Header::kSize;
  write_echo_message(wire::kIcmpEchoReply, icmp, out + at);
  store_be<uint16_t>(out + at + wire::kIcmpChecksumAt, wire::icmp_checksum(out + at, icmp.size()));
  return padded(out, at + icmp.size());
}

size_t write_echo_reply(const LocalAddresses& local, const MacAddress& destination,
                        const wire::Ipv6Header& ip, std::span<const uint8_t> icmp, uint8_t* out) {
  ROCE_DCHECK(wire::Ipv6Header::kSize + icmp.size() <= kMaxEchoPacket);
  size_t at = write_link_header(local, destination, wire::kEtherTypeIpv6, out);
  wire::Ipv6Header reply;
  reply.traffic_class = ip.traffic_class;
  reply.payload_length = static_cast<uint16_t>(icmp.size());
  reply.next_header = wire::kIpProtocolIcmpv6;
  reply.source = ip.destination;
  reply.destination = ip.source;
  reply.emit(out + at);
  at += wire::Ipv6Header::kSize;
  write_echo_message(wire::kIcmpv6EchoReply, icmp, out + at);
  write_ipv6_checksum(reply, out + at, icmp.size());
  return padded(out, at + icmp.size());
}

}  // namespace roce
