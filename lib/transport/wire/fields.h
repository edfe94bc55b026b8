// Every header of one frame as plain values, decoded and encoded whole. For tools, tests and packet
// scripts; the data path works on Packet and on header templates instead.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "wire/ethernet.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/packet.h"
#include "wire/udp.h"

namespace roce::wire {

/// One RoCEv2 frame. emit(decode(frame)) gives the same bytes. Extension headers that the opcode
/// does not carry are ignored by emit().
struct Fields {
  EthernetHeader ethernet;
  std::optional<VlanTag> vlan;
  std::variant<Ipv4Header, Ipv6Header> ip;
  UdpHeader udp;
  Bth bth;
  Deth deth;
  Reth reth;
  Aeth aeth;
  AtomicEth atomic_eth;
  AtomicAckEth atomic_ack_eth;
  ImmDt imm;
  Ieth ieth;
  Feth feth;
  std::vector<uint8_t> payload;
  std::vector<uint8_t> pad;  ///< bth.pad_count bytes, zero as a rule
  uint32_t icrc = 0;         ///< value of the little-endian field
};

/// Takes a frame apart; `packet` is what parse() made of it.
Fields decode(std::span<const uint8_t> frame, const Packet& packet);

/// The frame with exactly these values, right or wrong.
std::vector<uint8_t> emit(const Fields& fields);

/// Fills in what follows from the rest: pad and pad count, UDP and IP lengths, the IPv4 checksum
/// and the ICRC.
void complete(Fields& fields);

}  // namespace roce::wire
