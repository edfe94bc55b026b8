// Why a received packet was dropped without a reply: one counter each
// (spec/error-behaviour.md 1.1).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace roce {

enum class DropReason : uint8_t {
  none,  ///< not dropped
  // Underlay, in the order of the checks.
  frame_too_short,
  not_for_us_mac,
  unknown_ethertype,
  ip_version,
  ip_header_length,
  ip_checksum,
  ip_total_length,
  ip_fragment,
  ip_protocol,
  udp_port,
  udp_length,
  // RoCEv2 headers.
  bth_too_short,
  transport_version,
  unknown_opcode,
  headers_too_short,
  icrc,
  // Addressing.
  wrong_destination,
  unknown_qpn,
  unknown_group,  ///< a datagram to a multicast group that no QP has joined
  qp_type,
  qp_state,
  wrong_source,
  pkey,
  qkey,
  // Protocol.
  duplicate_request,  ///< a duplicate that is not in the replay table, or does not match it
  out_of_sequence,    ///< a request ahead of the expected PSN, after the NAK for the gap was sent
  ghost_response,     ///< a response for a PSN that is not outstanding
  reserved_syndrome,  ///< an AETH syndrome that is reserved
  no_receive_wqe,     ///< UC, UD: nothing posted to receive into
  message_too_long,   ///< UC, UD: longer than the posted buffer
  broken_message,     ///< UC: middle or last packets after a gap
  length,             ///< UD, UC: a length rule of the opcode broken
  access,             ///< UC: no right to the memory
  rnr_wait,           ///< a request ahead of the one that got an RNR NAK
  count,
};

inline constexpr size_t kDropReasonCount = static_cast<size_t>(DropReason::count);

/// Names as printed, exported and documented; index = the enumerator's value.
inline constexpr std::array<std::string_view, kDropReasonCount> kDropReasonNames = {
    "none",
    "frame_too_short",
    "not_for_us_mac",
    "unknown_ethertype",
    "ip_version",
    "ip_header_length",
    "ip_checksum",
    "ip_total_length",
    "ip_fragment",
    "ip_protocol",
    "udp_port",
    "udp_length",
    "bth_too_short",
    "transport_version",
    "unknown_opcode",
    "headers_too_short",
    "icrc",
    "wrong_destination",
    "unknown_qpn",
    "unknown_group",
    "qp_type",
    "qp_state",
    "wrong_source",
    "pkey",
    "qkey",
    "duplicate_request",
    "out_of_sequence",
    "ghost_response",
    "reserved_syndrome",
    "no_receive_wqe",
    "message_too_long",
    "broken_message",
    "length",
    "access",
    "rnr_wait",
};

constexpr std::string_view name_of(DropReason reason) {
  return kDropReasonNames[static_cast<size_t>(reason)];
}

static_assert(!kDropReasonNames.back().empty(), "every DropReason has a name");

}  // namespace roce
