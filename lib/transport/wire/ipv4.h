// IPv4 header without options (RFC 791), and the Internet checksum (RFC 1071).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/address.h"
#include "base/bytes.h"

namespace roce::wire {

inline constexpr uint8_t kIpProtocolIcmp = 1;
inline constexpr uint8_t kIpProtocolUdp = 17;

/// One's complement sum of `len` bytes added to `sum`; not folded, not inverted. `len` up to 128
/// KiB.
inline uint32_t checksum_add(uint32_t sum, const uint8_t* p, size_t len) {
  for (; len >= 2; len -= 2, p += 2) {
    sum += load_be<uint16_t>(p);
  }
  return len != 0 ? sum + static_cast<uint32_t>(p[0]) * 256 : sum;
}

/// Folds and inverts a sum made by checksum_add().
inline uint16_t checksum_finish(uint32_t sum) {
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

struct Ipv4Header {
  static constexpr size_t kSize = 20;
  static constexpr uint16_t kDontFragment = 0x4000;
  static constexpr uint16_t kFragmentMask = 0x3fff;  ///< more-fragments flag and the offset

  uint8_t tos = 0;            ///< DSCP in the upper six bits, ECN in the lower two
  uint16_t total_length = 0;  ///< bytes, header included
  uint16_t identification = 0;
  uint16_t flags_and_offset = kDontFragment;
  uint8_t ttl = 64;
  uint8_t protocol = kIpProtocolUdp;
  uint16_t checksum = 0;
  Ipv4Address source;
  Ipv4Address destination;

  static Ipv4Header parse(const uint8_t* p) {
    Ipv4Header h;
    h.tos = p[1];
    h.total_length = load_be<uint16_t>(p + 2);
    h.identification = load_be<uint16_t>(p + 4);
    h.flags_and_offset = load_be<uint16_t>(p + 6);
    h.ttl = p[8];
    h.protocol = p[9];
    h.checksum = load_be<uint16_t>(p + 10);
    std::memcpy(h.source.bytes.data(), p + 12, 4);
    std::memcpy(h.destination.bytes.data(), p + 16, 4);
    return h;
  }

  void emit(uint8_t* p) const {
    p[0] = 0x45;
    p[1] = tos;
    store_be<uint16_t>(p + 2, total_length);
    store_be<uint16_t>(p + 4, identification);
    store_be<uint16_t>(p + 6, flags_and_offset);
    p[8] = ttl;
    p[9] = protocol;
    store_be<uint16_t>(p + 10, checksum);
    std::memcpy(p + 12, source.bytes.data(), 4);
    std::memcpy(p + 16, destination.bytes.data(), 4);
  }

  /// Checksum of the 20 header bytes at `p`: over a received header it is 0 when right; over one
  /// whose checksum field is 0 it is the value to store.
  static uint16_t checksum_of(const uint8_t* p) {
    return checksum_finish(checksum_add(0, p, kSize));
  }
};

}  // namespace roce::wire
