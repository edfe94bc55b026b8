// CRC-32 by table, eight bytes a step: for processors without carry-less multiplication.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstring>

#include "wire/crc32_poly.h"

namespace roce::wire::detail {
namespace {

using ByteTable = std::array<uint32_t, 256>;

// tables[s][b]: the register after byte b and s zero bytes.
constexpr std::array<ByteTable, 8> make_tables() {
  std::array<ByteTable, 8> tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t r = b;
    for (size_t s = 0; s < 8; ++s) {
      for (int i = 0; i < 8; ++i) {
        r = times_x(r);
      }
      tables[s][b] = r;
    }
  }
  return tables;
}

constexpr std::array<ByteTable, 8> kTables = make_tables();

uint32_t step8(uint32_t state, uint64_t word) {
  word ^= state;
  uint32_t r = 0;
  for (size_t i = 0; i < 8; ++i) {
    r ^= kTables[7 - i][word >> (8 * i) & 0xff];
  }
  return r;
}

uint64_t load8(const uint8_t* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

uint32_t step1(uint32_t state, uint8_t byte) {
  return (state >> 8) ^ kTables[0][(state ^ byte) & 0xff];
}

uint32_t update(uint32_t state, const uint8_t* data, size_t len) {
  for (; len >= 8; len -= 8, data += 8) {
    state = step8(state, load8(data));
  }
  for (; len > 0; --len, ++data) {
    state = step1(state, *data);
  }
  return state;
}

uint32_t copy(uint32_t state, uint8_t* dst, const uint8_t* src, size_t len) {
  for (; len >= 8; len -= 8, src += 8, dst += 8) {
    const uint64_t word = load8(src);
    std::memcpy(dst, &word, sizeof word);
    state = step8(state, word);
  }
  for (; len > 0; --len, ++src, ++dst) {
    const uint8_t byte = *src;
    *dst = byte;
    state = step1(state, byte);
  }
  return state;
}

uint32_t update_masked(uint32_t state, const uint8_t* data, const uint8_t* ones, size_t len) {
  const size_t masked = len < kCrcMaskSize ? len : kCrcMaskSize;
  size_t at = 0;
  for (; at + 8 <= masked; at += 8) {
    state = step8(state, load8(data + at) | load8(ones + at));
  }
  for (; at < masked; ++at) {
    state = step1(state, data[at] | ones[at]);
  }
  return update(state, data + at, len - at);
}

}  // namespace

constexpr CrcFunctions kCrcTableFunctions{update, copy, update_masked};

}  // namespace roce::wire::detail
