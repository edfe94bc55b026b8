// Masking rule of the invariant CRC.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc.h"

#include <array>

#include "base/check.h"
#include "wire/crc32_poly.h"

namespace roce::wire {
namespace {

constexpr size_t kUdpSize = 8;
constexpr size_t kBthSize = 12;
constexpr size_t kIpv4Size = 20;
constexpr size_t kIpv6Size = 40;

using Mask = std::array<uint8_t, kCrcMaskSize>;
static_assert(kIpv6Size + kUdpSize + kBthSize <= kCrcMaskSize);

constexpr void mask_transport(Mask& mask, size_t ip_size) {
  mask[ip_size + 6] = mask[ip_size + 7] = 0xff;  // UDP checksum
  mask[ip_size + kUdpSize + 4] = 0xff;           // BTH: FECN, BECN, reserved
}

alignas(64) constexpr Mask kIpv4Mask = [] {
  Mask mask{};
  mask[1] = 0xff;              // type of service
  mask[8] = 0xff;              // time to live
  mask[10] = mask[11] = 0xff;  // header checksum
  mask_transport(mask, kIpv4Size);
  return mask;
}();

alignas(64) constexpr Mask kIpv6Mask = [] {
  Mask mask{};
  mask[0] = 0x0f;                      // traffic class, beside the version
  mask[1] = mask[2] = mask[3] = 0xff;  // traffic class, flow label
  mask[7] = 0xff;                      // hop limit
  mask_transport(mask, kIpv6Size);
  return mask;
}();

constexpr uint32_t after_eight_ones() {
  uint32_t state = kCrc32Start;
  for (int i = 0; i < 8; ++i) {
    state ^= 0xff;
    for (int bit = 0; bit < 8; ++bit) {
      state = detail::times_x(state);
    }
  }
  return state;
}

constexpr uint32_t kIcrcStart = after_eight_ones();

}  // namespace

uint32_t icrc_of_headers(const uint8_t* l3, size_t headers_len) {
  const bool ipv6 = l3[0] >> 4 == 6;
  ROCE_DCHECK(headers_len >= (ipv6 ? kIpv6Size : kIpv4Size) + kUdpSize + kBthSize);
  const Mask& mask = ipv6 ? kIpv6Mask : kIpv4Mask;
  return crc32_update_masked(kIcrcStart, l3, mask.data(), headers_len);
}

bool icrc_ok(const uint8_t* l3, size_t len_with_icrc) {
  const size_t covered = len_with_icrc - kIcrcSize;
  uint32_t received;
  std::memcpy(&received, l3 + covered, sizeof received);
  return icrc_finish(icrc_of_headers(l3, covered)) == received;
}

}  // namespace roce::wire
