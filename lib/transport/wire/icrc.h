// The invariant CRC of RoCEv2: CRC-32 over eight 0xff bytes (where InfiniBand has its local header)
// and the packet from the IP header to the pad, with the fields that change on the way set to ones:
//   IPv4: type of service, time to live, header checksum
//   IPv6: traffic class, flow label, hop limit
//   UDP:  checksum
//   BTH:  byte 4 (congestion bits)
// A packet here starts at the IP header; IPv4 has no options, IPv6 no extension headers, and the
// caller has checked so. Values between the calls are raw CRC registers (wire/crc32.h): go on with
// crc32_update or crc32_copy for what follows the headers.
//
// Thread: any; nothing here keeps state.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "wire/crc32.h"

namespace roce::wire {

inline constexpr size_t kIcrcSize = 4;  ///< bytes on the wire

/// The register after the eight 0xff bytes, the masked headers and whatever else lies in
/// `headers_len` bytes at `l3`. `headers_len` covers the IP header, UDP and BTH at least: 40 or
/// more (60 or more if the IP version at `l3` is 6).
uint32_t icrc_of_headers(const uint8_t* l3, size_t headers_len);

/// The ICRC's value for the register after the last byte it covers.
inline uint32_t icrc_finish(uint32_t state) {
  return ~state;
}

/// Writes an ICRC (little-endian, unlike all else on the wire) to the four bytes at `at`.
inline void store_icrc(uint8_t* at, uint32_t icrc) {
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(at, &icrc, sizeof icrc);
}

/// True if the packet of `len_with_icrc` bytes at `l3` ends with its right ICRC. The length is that
/// of the headers as in icrc_of_headers() plus kIcrcSize at least.
bool icrc_ok(const uint8_t* l3, size_t len_with_icrc);

}  // namespace roce::wire
