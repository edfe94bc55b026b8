// UDP header (RFC 768). RoCEv2 uses destination port 4791; receivers accept any source port and any
// checksum (spec/protocol-and-verbs.md 5.2).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace roce::wire {

inline constexpr uint16_t kRoceUdpPort = 4791;

struct UdpHeader {
  static constexpr size_t kSize = 8;

  uint16_t source_port = 0;
  uint16_t destination_port = kRoceUdpPort;
  uint16_t length = 0;    ///< bytes, this header included
  uint16_t checksum = 0;  ///< 0: not computed

  static UdpHeader parse(const uint8_t* p) {
    return {load_be<uint16_t>(p), load_be<uint16_t>(p + 2), load_be<uint16_t>(p + 4),
            load_be<uint16_t>(p + 6)};
  }

  void emit(uint8_t* p) const {
    store_be<uint16_t>(p, source_port);
    store_be<uint16_t>(p + 2, destination_port);
    store_be<uint16_t>(p + 4, length);
    store_be<uint16_t>(p + 6, checksum);
  }
};

}  // namespace roce::wire
