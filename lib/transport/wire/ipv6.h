// IPv6 header without extension headers (RFC 8200).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/address.h"
#include "base/bytes.h"

namespace roce::wire {

inline constexpr uint8_t kIpProtocolIcmpv6 = 58;

struct Ipv6Header {
  static constexpr size_t kSize = 40;

  uint8_t traffic_class = 0;
  uint32_t flow_label = 0;      ///< 20 bits
  uint16_t payload_length = 0;  ///< bytes after this header
  uint8_t next_header = 17;
  uint8_t hop_limit = 64;
  Ipv6Address source;
  Ipv6Address destination;

  static Ipv6Header parse(const uint8_t* p) {
    Ipv6Header h;
    const auto word = load_be<uint32_t>(p);
    h.traffic_class = static_cast<uint8_t>(word >> 20);
    h.flow_label = word & 0xfffff;
    h.payload_length = load_be<uint16_t>(p + 4);
    h.next_header = p[6];
    h.hop_limit = p[7];
    std::memcpy(h.source.bytes.data(), p + 8, 16);
    std::memcpy(h.destination.bytes.data(), p + 24, 16);
    return h;
  }

  void emit(uint8_t* p) const {
    store_be<uint32_t>(
        p, 6u << 28 | static_cast<uint32_t>(traffic_class) << 20 | (flow_label & 0xfffff));
    store_be<uint16_t>(p + 4, payload_length);
    p[6] = next_header;
    p[7] = hop_limit;
    std::memcpy(p + 8, source.bytes.data(), 16);
    std::memcpy(p + 24, destination.bytes.data(), 16);
  }
};

}  // namespace roce::wire
