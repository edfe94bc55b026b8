// Eight-byte words in arithmetic progression: word i of message m is w(m) + i * kStep. One addition
// a word, and the compiler makes vectors of it; kStep is odd, so no two words of a message are
// equal. SPDX-License-Identifier: BSD-3-Clause
#include "common/pattern.h"

#include <array>
#include <cstring>

#include <fmt/format.h>

namespace uroce::app {
namespace {

constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
constexpr size_t kLanes = 8;
constexpr size_t kBlock = kLanes * sizeof(uint64_t);
using Words = std::array<uint64_t, kLanes>;

Words first_block(uint64_t first) {
  Words words{};
  for (size_t i = 0; i < kLanes; ++i) {
    words[i] = first + i * kStep;
  }
  return words;
}

void next_block(Words& words) {
  for (uint64_t& word : words) {
    word += kLanes * kStep;
  }
}

}  // namespace

// Mixed well, so that the patterns of neighbouring messages have nothing in common.
uint64_t Pattern::first_word(uint64_t message) const {
  uint64_t z = seed_ + (message + 1) * kStep;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111eb;
  return z ^ (z >> 31U);
}

void Pattern::fill(std::span<uint8_t> to, uint64_t message) const {
  Words words = first_block(first_word(message));
  while (to.size() >= kBlock) {
    std::memcpy(to.data(), words.data(), kBlock);
    next_block(words);
    to = to.subspan(kBlock);
  }
  if (!to.empty()) {
    std::memcpy(to.data(), words.data(), to.size());
  }
}

std::optional<WrongByte> Pattern::check(std::span<const uint8_t> got, uint64_t message) const {
  Words words = first_block(first_word(message));
  std::array<uint8_t, kBlock> expected{};
  for (size_t at = 0; at < got.size(); at += kBlock) {
    const size_t length = got.size() - at < kBlock ? got.size() - at : kBlock;
    if (length == kBlock) {
      Words block{};
      std::memcpy(block.data(), got.data() + at, kBlock);
      uint64_t difference = 0;
      for (size_t i = 0; i < kLanes; ++i) {
        difference |= block[i] ^ words[i];
      }
      if (difference == 0) {
        next_block(words);
        continue;
      }
    }
    std::memcpy(expected.data(), words.data(), kBlock);
    for (size_t i = 0; i < length; ++i) {
      if (got[at + i] != expected[i]) {
        return WrongByte{message, at + i, expected[i], got[at + i]};
      }
    }
    next_block(words);
  }
  return std::nullopt;
}

std::string text_of(const WrongByte& wrong) {
  return fmt::format("byte {} of message {} is 0x{:02x} and should be 0x{:02x}", wrong.offset,
                     wrong.message, wrong.found, wrong.expected);
}

}  // namespace uroce::app
