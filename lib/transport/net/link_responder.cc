// LinkResponder: one function a protocol; each checks its lengths before it looks.
// SPDX-License-Identifier: BSD-3-Clause
#include "net/link_responder.h"

#include <cstring>
#include <optional>
#include <type_traits>

#include "base/bytes.h"
#include "wire/ethernet.h"

namespace roce {
namespace {

/// The Ethernet address among the options of a neighbour message.
struct LinkOption {
  bool well_formed = true;
  std::optional<MacAddress> mac;
};

LinkOption find_link_option(std::span<const uint8_t> options, uint8_t type) {
  LinkOption found;
  while (!options.empty()) {
    const size_t len = options.size() < 2 ? 0 : options[1] * wire::LinkAddressOption::kUnit;
    if (len == 0 || len > options.size()) {
      return {false, std::nullopt};
    }
    if (options[0] == type && len == wire::LinkAddressOption::kSize) {
      found.mac = wire::LinkAddressOption::parse(options.data()).mac;
      found.well_formed = found.well_formed && is_unicast(*found.mac);
    }
    options = options.subspan(len);
  }
  return found;
}

}  // namespace

LinkResponder::LinkResponder(const LocalAddresses& local, NeighbourTable& neighbours)
    : local_(local),
      neighbours_(neighbours),
      groups_(local),
      replies_(std::make_unique<std::array<Reply, kMaxReplies>>()) {}

bool LinkResponder::on_frame(Instant now, std::span<const uint8_t> frame) {
  if (frame.size() < wire::EthernetHeader::kSize) {
    return false;
  }
  const auto ethernet = wire::EthernetHeader::parse(frame.data());
  const bool to_us = ethernet.destination == local_.mac || ethernet.destination.is_multicast();
  if (!to_us || !is_unicast(ethernet.source)) {
    return false;
  }
  Received in{now, ethernet.source, frame.subspan(wire::EthernetHeader::kSize)};
  uint16_t ethertype = ethernet.ethertype;
  uint16_t vlan = 0;
  if (ethertype == wire::kEtherTypeVlan) {
    if (in.bytes.size() < wire::VlanTag::kSize) {
      return false;
    }
    const auto tag = wire::VlanTag::parse(in.bytes.data());
    ethertype = tag.ethertype;
    vlan = tag.id;
    in.bytes = in.bytes.subspan(wire::VlanTag::kSize);
  }
  // A tag with id 0 only gives a priority: the frame is on no VLAN.
  if (vlan != local_.vlan.value_or(0)) {
    return false;
  }
  switch (ethertype) {
    case wire::kEtherTypeArp:
      on_arp(in);
      return true;
    case wire::kEtherTypeIpv4:
      return on_ipv4(in);
    case wire::kEtherTypeIpv6:
      return on_ipv6(in);
    default:
      return false;
  }
}

void LinkResponder::on_arp(const Received& in) {
  if (in.bytes.size() < wire::ArpPacket::kSize) {
    ++counters_.malformed;
    return;
  }
  const auto arp = wire::ArpPacket::parse(in.bytes.data());
  if (!arp.is_ipv4_over_ethernet() || !is_unicast(arp.sender_mac) ||
      (arp.operation != wire::kArpRequest && arp.operation != wire::kArpReply)) {
    ++counters_.malformed;
    return;
  }
  const Gid sender = Gid::from(arp.sender_ip);
  if (local_.owns(sender)) {
    ++(arp.sender_mac == local_.mac ? counters_.ignored : counters_.conflicts);
    return;
  }
  if (arp.operation == wire::kArpRequest && local_.owns(Gid::from(arp.target_ip))) {
    on_arp_request(in, arp);
    return;
  }
  const bool known = neighbours_.on_answer(sender, arp.sender_mac, true, in.now);
  ++(known ? counters_.answers : counters_.ignored);
}

void LinkResponder::on_arp_request(const Received& in, const wire::ArpPacket& arp) {
  Reply* reply = new_reply(0);
  if (reply == nullptr) {
    return;
  }
  ++counters_.requests;
  // A sender without an address only probes whether ours is taken; the table refuses it.
  neighbours_.on_solicited_by(Gid::from(arp.sender_ip), arp.sender_mac, in.now);
  wire::ArpPacket answer;
  answer.operation = wire::kArpReply;
  answer.sender_mac = local_.mac;
  answer.sender_ip = arp.target_ip;
  answer.target_mac = arp.sender_mac;
  answer.target_ip = arp.sender_ip;
  reply->len = write_arp(local_, arp.sender_mac, answer, reply->bytes.data());
}

bool LinkResponder::on_ipv4(Received in) {
  if (in.bytes.size() < wire::Ipv4Header::kSize) {
    return false;
  }
  const uint8_t* p = in.bytes.data();
  const auto ip = wire::Ipv4Header::parse(p);
  if (ip.protocol != wire::kIpProtocolIcmp) {
    return false;
  }
  // Packets with options are not answered.
  const bool whole = p[0] == 0x45 && ip.total_length >= wire::Ipv4Header::kSize &&
                     ip.total_length <= in.bytes.size() && wire::Ipv4Header::checksum_of(p) == 0;
  if (!whole) {
    ++counters_.malformed;
    return true;
  }
  const bool fragment = (ip.flags_and_offset & wire::Ipv4Header::kFragmentMask) != 0;
  if (fragment || !local_.owns(Gid::from(ip.destination)) || !is_unicast(Gid::from(ip.source))) {
    ++counters_.ignored;
    return true;
  }
  in.bytes = in.bytes.subspan(wire::Ipv4Header::kSize, ip.total_length - wire::Ipv4Header::kSize);
  on_icmp(in, ip);
  return true;
}

void LinkResponder::on_icmp(const Received& in, const wire::Ipv4Header& ip) {
  if (in.bytes.size() < wire::IcmpEcho::kSize ||
      wire::icmp_checksum(in.bytes.data(), in.bytes.size()) != 0) {
    ++counters_.malformed;
    return;
  }
  const auto echo = wire::IcmpEcho::parse(in.bytes.data());
  if (echo.type != wire::kIcmpEchoRequest || echo.code != 0) {
    ++counters_.ignored;
    return;
  }
  on_echo_request(in, ip);
}

bool LinkResponder::on_ipv6(Received in) {
  if (in.bytes.size() < wire::Ipv6Header::kSize) {
    return false;
  }
  const uint8_t* p = in.bytes.data();
  const auto ip = wire::Ipv6Header::parse(p);
  if (ip.next_header != wire::kIpProtocolIcmpv6) {
    return false;
  }
  in.bytes = in.bytes.subspan(wire::Ipv6Header::kSize);
  if (p[0] >> 4 != 6 || ip.payload_length > in.bytes.size() || ip.source.is_multicast()) {
    ++counters_.malformed;
    return true;
  }
  if (!local_.listens_to(ip.destination)) {
    ++counters_.ignored;
    return true;
  }
  in.bytes = in.bytes.first(ip.payload_length);
  on_icmpv6(in, ip);
  return true;
}

void LinkResponder::on_icmpv6(const Received& in, const wire::Ipv6Header& ip) {
  // Every message that is answered has at least eight bytes.
  if (in.bytes.size() < wire::IcmpEcho::kSize ||
      wire::icmpv6_checksum(ip.source, ip.destination, in.bytes.data(), in.bytes.size()) != 0) {
    ++counters_.malformed;
    return;
  }
  const auto head = wire::IcmpEcho::parse(in.bytes.data());
  const bool to_one = local_.owns(Gid::from(ip.destination)) && is_unicast(Gid::from(ip.source));
  if (head.type == wire::kIcmpv6EchoRequest && head.code == 0 && to_one) {
    on_echo_request(in, ip);
    return;
  }
  const bool solicits = head.type == wire::kIcmpv6NeighbourSolicitation;
  if (!solicits && head.type != wire::kIcmpv6NeighbourAdvertisement) {
    ++counters_.ignored;
    return;
  }
  if (head.code != 0 || in.bytes.size() < wire::NeighbourMessage::kSize ||
      ip.hop_limit != wire::kNeighbourHopLimit) {
    ++counters_.malformed;
    return;
  }
  if (solicits) {
    on_solicitation(in, ip);
  } else {
    on_advertisement(in, ip);
  }
}

void LinkResponder::on_solicitation(const Received& in, const wire::Ipv6Header& ip) {
  const auto message = wire::NeighbourMessage::parse(in.bytes.data());
  const LinkOption option = find_link_option(in.bytes.subspan(wire::NeighbourMessage::kSize),
                                             wire::LinkAddressOption::kSource);
  const bool probe = ip.source == Ipv6Address{};
  // A node that only probes whether an address is taken has none to give (RFC 4861 7.1.1).
  const bool bad_probe = probe && (option.mac || !ip.destination.is_multicast());
  if (!option.well_formed || message.target.is_multicast() || bad_probe) {
    ++counters_.malformed;
    return;
  }
  if (!local_.owns(Gid::from(message.target))) {
    ++counters_.ignored;
    return;
  }
  if (local_.owns(Gid::from(ip.source))) {
    ++(in.source_mac == local_.mac ? counters_.ignored : counters_.conflicts);
    return;
  }
  Reply* reply = new_reply(0);
  if (reply == nullptr) {
    return;
  }
  ++counters_.requests;
  NeighbourPacket answer;
  answer.source = message.target;
  answer.message.type = wire::kIcmpv6NeighbourAdvertisement;
  answer.message.override = true;
  answer.message.target = message.target;
  if (probe) {
    answer.destination = kAllNodes;
    answer.destination_mac = multicast_mac(kAllNodes);
  } else {
    answer.destination = ip.source;
    answer.destination_mac = option.mac.value_or(in.source_mac);
    answer.message.solicited = true;
    if (option.mac) {
      neighbours_.on_solicited_by(Gid::from(ip.source), *option.mac, in.now);
    }
  }
  reply->len = write_neighbour(local_, answer, reply->bytes.data());
}

void LinkResponder::on_advertisement(const Received& in, const wire::Ipv6Header& ip) {
  const auto message = wire::NeighbourMessage::parse(in.bytes.data());
  const LinkOption option = find_link_option(in.bytes.subspan(wire::NeighbourMessage::kSize),
                                             wire::LinkAddressOption::kTarget);
  const bool bad_flags = message.solicited && ip.destination.is_multicast();
  if (!option.well_formed || message.target.is_multicast() || bad_flags) {
    ++counters_.malformed;
    return;
  }
  if (local_.owns(Gid::from(message.target))) {
    ++(in.source_mac == local_.mac ? counters_.ignored : counters_.conflicts);
    return;
  }
  // Without the option there is nothing to learn: our solicitations are multicast.
  const bool known = option.mac && neighbours_.on_answer(Gid::from(message.target), *option.mac,
                                                         message.override, in.now);
  ++(known ? counters_.answers : counters_.ignored);
}

template <class IpHeader>
void LinkResponder::on_echo_request(const Received& in, const IpHeader& ip) {
  if (IpHeader::kSize + in.bytes.size() > kMaxEchoPacket) {
    ++counters_.echoes_too_long;
    return;
  }
  Reply* reply = new_reply(kReservedReplies);
  if (reply == nullptr) {
    return;
  }
  ++counters_.echoes;
  reply->len = write_echo_reply(local_, in.source_mac, ip, in.bytes, reply->bytes.data());
}

/// A place in the queue, if more than `reserved` are free; counts when there is none.
LinkResponder::Reply* LinkResponder::new_reply(size_t reserved) {
  if (reply_count_ + reserved >= kMaxReplies) {
    ++counters_.queue_full;
    return nullptr;
  }
  return &(*replies_)[(first_reply_ + reply_count_++) % kMaxReplies];
}

void LinkResponder::announce() {
  for (size_t i = 0; i < local_.entries().size(); ++i) {
    unannounced_.set(i);
  }
}

size_t LinkResponder::pull(Instant now, uint8_t* out, size_t capacity) {
  if (capacity < kMinPullCapacity) {
    return 0;
  }
  while (reply_count_ != 0) {
    const Reply& reply = (*replies_)[first_reply_];
    first_reply_ = (first_reply_ + 1) % kMaxReplies;
    --reply_count_;
    if (reply.len <= capacity) {
      std::memcpy(out, reply.bytes.data(), reply.len);
      return reply.len;
    }
  }
  for (size_t i = 0; i < local_.entries().size(); ++i) {
    if (unannounced_.test(i)) {
      unannounced_.reset(i);
      return write_announcement(local_.entries()[i].gid, out);
    }
  }
  if (groups_.wants_tx()) {
    return groups_.pull(out);
  }
  const std::optional<Gid> target = neighbours_.pull_solicitation(now);
  return target ? write_solicitation(*target, out) : 0;
}

size_t LinkResponder::write_announcement(const Gid& gid, uint8_t* out) const {
  if (gid.is_ipv4()) {
    wire::ArpPacket arp;
    arp.sender_mac = local_.mac;
    arp.sender_ip = gid.ipv4();
    arp.target_ip = gid.ipv4();
    return write_arp(local_, kBroadcastMac, arp, out);
  }
  NeighbourPacket packet;
  packet.destination_mac = multicast_mac(kAllNodes);
  packet.source = gid.ipv6();
  packet.destination = kAllNodes;
  packet.message.type = wire::kIcmpv6NeighbourAdvertisement;
  packet.message.override = true;
  packet.message.target = gid.ipv6();
  return write_neighbour(local_, packet, out);
}

size_t LinkResponder::write_solicitation(const Gid& target, uint8_t* out) const {
  const Gid source = local_.source_for(target).value_or(Gid{});
  if (target.is_ipv4()) {
    wire::ArpPacket arp;
    arp.sender_mac = local_.mac;
    arp.sender_ip = source.ipv4();
    arp.target_ip = target.ipv4();
    return write_arp(local_, kBroadcastMac, arp, out);
  }
  NeighbourPacket packet;
  packet.destination = solicited_node_address(target.ipv6());
  packet.destination_mac = multicast_mac(packet.destination);
  packet.source = source.ipv6();
  packet.message.target = target.ipv6();
  return write_neighbour(local_, packet, out);
}

}  // namespace roce
