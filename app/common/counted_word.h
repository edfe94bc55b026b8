// The word that validated atomics count in: it starts at a value that memory does not hold by
// itself, and each atomic adds one. All functions are pure.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "common/pattern.h"

namespace uroce::app {

/// What the word holds before the atomic number `message`, counted from 0.
constexpr uint64_t word_before(uint64_t message) {
  return 0x5eed00000000 + message;
}

inline uint64_t word_at(const uint8_t* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

inline void set_word(uint8_t* at, uint64_t word) {
  std::memcpy(at, &word, sizeof word);
}

/// Compares what atomic `message` has brought to `at`.
inline std::optional<WrongByte> check_word(const uint8_t* at, uint64_t message) {
  const uint64_t expected = word_before(message);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(&expected);
  for (size_t i = 0; i < sizeof expected; ++i) {
    if (at[i] != bytes[i]) {
      return WrongByte{.message = message, .offset = i, .expected = bytes[i], .found = at[i]};
    }
  }
  return std::nullopt;
}

}  // namespace uroce::app
