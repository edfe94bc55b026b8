// Ethernet II header and the 802.1Q tag. Every header file of this folder has the same three parts:
// the value, parse() from bytes that the caller has checked to be long enough, and emit() of the
// same bytes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/address.h"
#include "base/bytes.h"

namespace roce::wire {

inline constexpr uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr uint16_t kEtherTypeArp = 0x0806;
inline constexpr uint16_t kEtherTypeVlan = 0x8100;
inline constexpr uint16_t kEtherTypeIpv6 = 0x86dd;

struct EthernetHeader {
  static constexpr size_t kSize = 14;

  MacAddress destination;
  MacAddress source;
  uint16_t ethertype = 0;

  /// Requires kSize readable bytes.
  static EthernetHeader parse(const uint8_t* p) {
    EthernetHeader h;
    std::memcpy(h.destination.bytes.data(), p, 6);
    std::memcpy(h.source.bytes.data(), p + 6, 6);
    h.ethertype = load_be<uint16_t>(p + 12);
    return h;
  }

  /// Requires kSize writable bytes.
  void emit(uint8_t* p) const {
    std::memcpy(p, destination.bytes.data(), 6);
    std::memcpy(p + 6, source.bytes.data(), 6);
    store_be<uint16_t>(p + 12, ethertype);
  }
};

/// What follows the EtherType 0x8100: tag control information, then the inner EtherType.
struct VlanTag {
  static constexpr size_t kSize = 4;

  uint8_t priority = 0;  ///< 0..7
  bool drop_eligible = false;
  uint16_t id = 0;  ///< 0..4095
  uint16_t ethertype = 0;

  static VlanTag parse(const uint8_t* p) {
    const auto tci = load_be<uint16_t>(p);
    return {static_cast<uint8_t>(tci >> 13), (tci & 0x1000) != 0,
            static_cast<uint16_t>(tci & 0x0fff), load_be<uint16_t>(p + 2)};
  }

  void emit(uint8_t* p) const {
    store_be<uint16_t>(
        p, static_cast<uint16_t>(priority << 13 | (drop_eligible ? 0x1000 : 0) | (id & 0x0fff)));
    store_be<uint16_t>(p + 2, ethertype);
  }
};

}  // namespace roce::wire
