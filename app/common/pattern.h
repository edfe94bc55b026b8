// The bytes that validated messages carry. They follow from a seed, the number of the message and
// the offset, so that a byte of another message, or one at another place, is told apart.
// All functions are pure. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace uroce::app {

/// Where a message first differs from its pattern.
struct WrongByte {
  uint64_t message = 0;  ///< counted from 0
  uint64_t offset = 0;   ///< in the message
  uint8_t expected = 0;
  uint8_t found = 0;
};

class Pattern {
 public:
  explicit Pattern(uint64_t seed) : seed_(seed) {}

  /// Writes the bytes of `message`, as far as `to` goes.
  void fill(std::span<uint8_t> to, uint64_t message) const;

  /// Compares every byte; nothing when all are right.
  std::optional<WrongByte> check(std::span<const uint8_t> got, uint64_t message) const;

 private:
  uint64_t first_word(uint64_t message) const;

  uint64_t seed_;
};

/// "byte 17 of message 3 is 0x00 and should be 0x5a".
std::string text_of(const WrongByte& wrong);

}  // namespace uroce::app
