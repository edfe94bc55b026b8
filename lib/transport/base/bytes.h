// Loads and stores of big-endian integers at any alignment.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>

namespace roce {

static_assert(std::endian::native == std::endian::little,
              "uroce is written for little-endian hosts");

constexpr uint8_t byteswap(uint8_t v) {
  return v;
}
constexpr uint16_t byteswap(uint16_t v) {
  return __builtin_bswap16(v);
}
constexpr uint32_t byteswap(uint32_t v) {
  return __builtin_bswap32(v);
}
constexpr uint64_t byteswap(uint64_t v) {
  return __builtin_bswap64(v);
}

/// Reads a big-endian T at `p`; `p` need not be aligned.
template <std::unsigned_integral T>
inline T load_be(const uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return byteswap(v);
}

/// Writes `v` big-endian at `p`; `p` need not be aligned.
template <std::unsigned_integral T>
inline void store_be(uint8_t* p, T v) {
  v = byteswap(v);
  std::memcpy(p, &v, sizeof v);
}

/// Reads the three big-endian bytes at `p`.
inline uint32_t load_be24(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) << 16 | static_cast<uint32_t>(p[1]) << 8 | p[2];
}

/// Writes the low three bytes of `v` big-endian at `p`.
inline void store_be24(uint8_t* p, uint32_t v) {
  p[0] = static_cast<uint8_t>(v >> 16);
  p[1] = static_cast<uint8_t>(v >> 8);
  p[2] = static_cast<uint8_t>(v);
}

}  // namespace roce
