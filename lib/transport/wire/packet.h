// A received RoCEv2 packet: checked once by parse(), after which no accessor can read past the end.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/address.h"
#include "base/drop_reason.h"
#include "base/psn.h"
#include "wire/opcode.h"
#include "wire/syndrome.h"

namespace roce::wire {

/// View of one packet inside a frame, with the fields that every packet needs already decoded.
/// Valid as long as the frame is.
struct Packet {
  const uint8_t* l3 = nullptr;  ///< IP header
  const uint8_t* bth = nullptr;
  const uint8_t* payload = nullptr;  ///< after all headers; nullptr: it has been placed already
  const OpcodeInfo* info = nullptr;  ///< row of kOpcodes; `known` is false for a reserved opcode
  uint32_t l3_len = 0;               ///< bytes from `l3` to the end of the ICRC
  uint32_t payload_len = 0;          ///< bytes, without pad and ICRC
  uint32_t dest_qp = 0;
  Psn psn;
  uint16_t pkey = 0;
  uint8_t opcode = 0;
  uint8_t pad_count = 0;
  bool ipv6 = false;
  bool solicited = false;
  bool ack_req = false;

  const uint8_t* extensions() const { return bth + Bth::kSize; }
  Transport transport() const { return transport_of(opcode); }
  Operation operation() const { return operation_of(opcode); }

  // Each requires that the opcode carries the header (info->deth and so on).
  Deth deth() const { return Deth::parse(extensions()); }
  /// The RETH of a FLUSH stands after its FETH.
  Reth reth() const { return Reth::parse(extensions() + (info->feth ? Feth::kSize : 0)); }
  Aeth aeth() const { return Aeth::parse(extensions()); }
  AtomicEth atomic_eth() const { return AtomicEth::parse(extensions()); }
  AtomicAckEth atomic_ack_eth() const { return AtomicAckEth::parse(extensions() + Aeth::kSize); }
  /// Immediate data and IETH are always the last header.
  ImmDt imm() const { return ImmDt::parse(payload - ImmDt::kSize); }
  Ieth ieth() const { return Ieth::parse(payload - Ieth::kSize); }
  Feth feth() const { return Feth::parse(extensions()); }

  /// True when the network marked the packet "congestion experienced" (RFC 3168).
  bool congestion_experienced() const {
    const uint32_t ecn = ipv6 ? static_cast<uint32_t>(l3[1] >> 4) : l3[1];
    return (ecn & 3) == 3;
  }
  Gid source_gid() const { return gid_at(ipv6 ? 8 : 12); }
  Gid destination_gid() const { return gid_at(ipv6 ? 24 : 16); }

 private:
  Gid gid_at(size_t offset) const;
};

/// Where a frame goes: to the RoCE engine, to the small protocols of the link, or nowhere.
enum class FrameKind : uint8_t { roce, other, bad };

struct ParseResult {
  FrameKind kind = FrameKind::bad;
  DropReason reason = DropReason::none;  ///< why it is `bad`
};

/// Checks a frame in the order of spec/error-behaviour.md 1.1, up to but without the ICRC, and
/// fills `packet`. Never reads past the end of `frame`. Frames that are not UDP to port 4791 are
/// `other` when they are whole (ARP, ICMP, ...). IPv4 and IPv6 are checked before that decision.
ParseResult parse(std::span<const uint8_t> frame, Packet& packet);

}  // namespace roce::wire
