// Digest: what a fuzzed device lets be seen in the course of one input, as one number, so that two
// runs can be compared.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace roce::fuzz {

class Digest {
 public:
  void add(uint64_t word) {
    value_ = (value_ ^ word) * 0x9e37'79b9'7f4a'7c15;
    value_ ^= value_ >> 29;
  }
  void add(std::span<const uint8_t> bytes) {
    add(bytes.size());
    for (; !bytes.empty();) {
      uint64_t word = 0;
      const size_t n = bytes.size() < sizeof word ? bytes.size() : sizeof word;
      std::memcpy(&word, bytes.data(), n);
      bytes = bytes.subspan(n);
      add(word);
    }
  }
  /// Of counters: something that consists of nothing but numbers of 64 bits.
  template <class Counters>
  void add_change(const Counters& before, const Counters& after) {
    static_assert(sizeof before % sizeof(uint64_t) == 0);
    constexpr size_t kCount = sizeof before / sizeof(uint64_t);
    uint64_t from[kCount];
    uint64_t to[kCount];
    std::memcpy(from, &before, sizeof from);
    std::memcpy(to, &after, sizeof to);
    for (size_t i = 0; i < kCount; ++i) {
      add(to[i] - from[i]);
    }
  }

  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0;
};

}  // namespace roce::fuzz
