// Arithmetic modulo the CRC-32 polynomial P at compile time, and the constants that the kernels get
// from it. Internal to crc32*.cc.
//
// Bits are reflected: bit 31 of a 32-bit remainder is the coefficient of x^0, bit 0 that of x^31.
// In a block of bytes the first byte's lowest bit has the highest power.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/crc32.h"

namespace roce::wire::detail {

inline constexpr uint32_t kCrcPoly = 0xedb88320;

constexpr uint32_t times_x(uint32_t r) {
  return (r >> 1) ^ (kCrcPoly & (0 - (r & 1)));
}

constexpr uint32_t over_x(uint32_t r) {
  const uint32_t carry = r >> 31;
  return (r ^ (kCrcPoly & (0 - carry))) << 1 | carry;
}

/// x^exponent mod P as a factor for carry-less multiplication. If bit 63 - i of a 64-bit half is
/// the coefficient of x^i, then bit 95 - i of its product with the factor is that of x^i.
/// Never left to run time: a compiler that did not fold it would make every long input wait for it.
consteval uint64_t crc_factor(int exponent) {
  uint32_t r = 0x80000000;
  for (; exponent > 0; --exponent) {
    r = times_x(r);
  }
  for (; exponent < 0; ++exponent) {
    r = over_x(r);
  }
  return static_cast<uint64_t>(r) << 1;
}

/// Factors that move the eight 64-bit halves of a 64-byte block to the end of the input, x^32
/// included, so that the products' sum needs the final reduction only and blocks do not wait for
/// one another. A block that starts n bytes before the end and sticks out beyond it (zeros there)
/// is moved by a negative power, which exists since x has an inverse mod P.
class CrcFactors {
 public:
  static constexpr size_t kMaxDistance = 511;

  constexpr CrcFactors() {
    // Half k from the block's end has the power 8 n - 512 + 32 + 64 k = 8 (n + 8 k - 60).
    uint32_t r = 0x80000000;
    for (int i = 0; i < 8 * 60; ++i) {
      r = over_x(r);
    }
    for (size_t j = 0; j < 8 * kColumns; ++j) {
      table_[j % 8][kColumns - 1 - j / 8] = static_cast<uint64_t>(r) << 1;
      for (int i = 0; i < 8; ++i) {
        r = times_x(r);
      }
    }
  }

  /// Eight factors for a 64-byte block that starts `n` bytes before the end, 0 <= n <=
  /// kMaxDistance.
  const uint64_t* for_64(size_t n) const { return &table_[n % 8][kColumns - 8 - n / 8]; }

  /// Two factors for a 16-byte block that starts `n` bytes before the end, 0 <= n <= 127. The block
  /// is the last quarter of a 64-byte one that starts 48 bytes earlier. The next two are those for
  /// n - 16.
  const uint64_t* for_16(size_t n) const { return for_64(n + 48) + 6; }

 private:
  // Neighbours in a row differ by x^64, so one row serves every n of the same n % 8.
  static constexpr size_t kColumns = 72;
  static_assert(kColumns >= kMaxDistance / 8 + 8);
  alignas(64) std::array<std::array<uint64_t, kColumns>, 8> table_{};
};

inline constexpr CrcFactors kCrcFactors{};

/// P itself, bit j for x^(32 - j).
inline constexpr uint64_t kCrcModulus = static_cast<uint64_t>(kCrcPoly) << 1 | 1;

/// floor(x^96 / P) without its x^0 term, bit j for x^(64 - j). The term left out cannot reach the
/// quotient of a dividend below x^96.
constexpr uint64_t crc_reciprocal() {
  uint64_t q = 1;
  uint32_t r = kCrcPoly;
  for (unsigned j = 1; j < 64; ++j) {
    q |= static_cast<uint64_t>(r & 1) << j;
    r = times_x(r);
  }
  return q;
}

inline constexpr uint64_t kCrcReciprocal = crc_reciprocal();

extern const CrcFunctions kCrcTableFunctions;
extern const CrcFunctions kCrcPclmulFunctions;
extern const CrcFunctions kCrcVpclmulFunctions;

}  // namespace roce::wire::detail
