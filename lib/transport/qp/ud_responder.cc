// Datagrams, each complete in itself.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/ud_responder.h"

#include <array>
#include <cstring>

#include "qp/packet_length.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace roce {
namespace {

/// What wc.sl tells about a datagram, as Linux numbers its packet types: RoCEv2 over IPv4 or IPv6.
/// UCX tells by it how to read the GRH area.
constexpr uint8_t kSlIpv4 = 2;
constexpr uint8_t kSlIpv6 = 3;

}  // namespace

DropReason UdResponder::on_datagram(const wire::Packet& packet, const RegionTable& regions) {
  if (!packet.info->known) {
    return DropReason::unknown_opcode;
  }
  if (packet.deth().qkey != core_.qkey) {
    return DropReason::qkey;
  }
  if (!length_fits(packet, core_.pmtu())) {
    return DropReason::length;
  }
  if (!receiver_.open()) {
    return DropReason::no_receive_wqe;
  }
  if (kGrhBytes + packet.payload_len > receiver_.room()) {
    receiver_.abandon();
    return DropReason::message_too_long;
  }
  Cqe cqe = receive_completion(packet, packet.deth().src_qp);
  cqe.byte_len = kGrhBytes + packet.payload_len;
  cqe.flags |= kCqeGrh;
  cqe.sl = packet.ipv6 ? kSlIpv6 : kSlIpv4;
  if (place(packet, regions) != MemoryFault::none) {
    cqe.status = CompletionStatus::local_protection_error;
    receiver_.complete(cqe);
    core_.enter(QpState::err);
    return DropReason::access;
  }
  receiver_.complete(cqe);
  return DropReason::none;
}

MemoryFault UdResponder::place(const wire::Packet& packet, const RegionTable& regions) {
  std::array<uint8_t, kGrhBytes> grh{};
  const size_t header = packet.ipv6 ? wire::Ipv6Header::kSize : wire::Ipv4Header::kSize;
  std::memcpy(grh.data() + grh.size() - header, packet.l3, header);
  const MemoryFault fault = receiver_.place(regions, grh.data(), kGrhBytes);
  return fault != MemoryFault::none ? fault
                                    : receiver_.place(regions, packet.payload, packet.payload_len);
}

}  // namespace roce
