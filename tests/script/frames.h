// Frames of the silent-drop cases: where their parts are, and a request that is all right.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/bytes.h"
#include "script/script.h"
#include "wire/ipv4.h"

namespace roce::script {

// Where the parts of an untagged frame are.
inline constexpr size_t kIp = 14;
inline constexpr size_t kUdp4 = 34;
inline constexpr size_t kUdp6 = 54;

/// A request that is all right and asks for an answer.
inline Pkt sound(const Script& s) {
  return write_only(0).reth(s.at(0), s.rkey(), 8).data(8).ack_req();
}

inline void fix_ip_checksum(Bytes& frame) {
  store_be<uint16_t>(&frame[kIp + 10], 0);
  store_be<uint16_t>(&frame[kIp + 10], wire::Ipv4Header::checksum_of(&frame[kIp]));
}

}  // namespace roce::script
