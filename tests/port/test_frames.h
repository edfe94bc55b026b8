// Ethernet frames for the tests of ports: minimal RoCE packets that carry a number, so that each
// can be told from the others.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/address.h"
#include "base/bytes.h"
#include "base/frame.h"

namespace roce::test {

/// Ethernet, IPv4, UDP headers and the number.
inline constexpr uint32_t kMinFrameLen = 14 + 20 + 8 + 8;
inline constexpr uint32_t kNumberAt = 14 + 20 + 8;

/// The bytes of a frame of `len` >= kMinFrameLen bytes to UDP port 4791, with `number` behind the
/// headers and a filling that depends on it.
inline std::vector<uint8_t> roce_bytes(uint64_t number, uint32_t len = kMinFrameLen,
                                       MacAddress to = kBroadcastMac, MacAddress from = {}) {
  std::vector<uint8_t> b(len);
  std::copy(to.bytes.begin(), to.bytes.end(), b.begin());
  std::copy(from.bytes.begin(), from.bytes.end(), b.begin() + 6);
  store_be<uint16_t>(&b[12], 0x0800);
  b[14] = 0x45;
  store_be<uint16_t>(&b[16], static_cast<uint16_t>(len - 14));
  b[22] = 64;
  b[23] = 17;
  store_be<uint32_t>(&b[26], 0xc0000201);
  store_be<uint32_t>(&b[30], 0xc0000202);
  uint32_t sum = 0;
  for (size_t i = 14; i < 34; i += 2) {
    sum += load_be<uint16_t>(&b[i]);
  }
  store_be<uint16_t>(&b[24], static_cast<uint16_t>(~(sum + (sum >> 16))));
  store_be<uint16_t>(&b[34], 0xc000);
  store_be<uint16_t>(&b[36], 4791);
  store_be<uint16_t>(&b[38], static_cast<uint16_t>(len - 34));
  store_be<uint64_t>(&b[kNumberAt], number);
  for (size_t i = kMinFrameLen; i < len; i++) {
    b[i] = static_cast<uint8_t>(number * 31 + i * 7);
  }
  return b;
}

inline void fill(Frame& frame, const std::vector<uint8_t>& bytes) {
  std::copy(bytes.begin(), bytes.end(), frame.data);
  frame.len = static_cast<uint32_t>(bytes.size());
}

inline std::vector<uint8_t> bytes_of(const Frame& frame) {
  return {frame.data, frame.data + frame.len};
}

inline uint64_t number_of(const Frame& frame) {
  return frame.len < kMinFrameLen ? UINT64_MAX : load_be<uint64_t>(frame.data + kNumberAt);
}

}  // namespace roce::test
