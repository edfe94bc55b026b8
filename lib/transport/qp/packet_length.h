// The length rule of request packets with payload, alike in RC, UC and UD.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "wire/packet.h"

namespace roce {

/// R12, as far as it needs nothing but the packet: FIRST and MIDDLE are full, LAST is not empty,
/// and the pad fills up to four bytes.
inline bool length_fits(const wire::Packet& packet, uint32_t pmtu) {
  const uint32_t len = packet.payload_len;
  if (packet.pad_count != (-len & 3)) {
    return false;
  }
  if (!packet.info->last) {
    return len == pmtu;
  }
  return len <= pmtu && (packet.info->first || len > 0);
}

}  // namespace roce
