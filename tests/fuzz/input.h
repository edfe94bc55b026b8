// Input: a fuzzer's bytes, taken from the front, as the small decisions that they stand for. What
// is asked for beyond the end is zero, so that every input means something.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace roce::fuzz {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(data, size) {}

  bool empty() const { return rest_.empty(); }
  size_t left() const { return rest_.size(); }

  uint8_t byte() { return number<uint8_t>(); }
  bool flag() { return (byte() & 1) != 0; }

  template <class T>
  T number() {
    T value{};
    const std::span<const uint8_t> bytes = take(sizeof value);
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }

  /// 0..n-1; one byte, or four when that is not enough.
  size_t below(size_t n) {
    const size_t drawn = n <= 256 ? byte() : number<uint32_t>();
    return drawn % n;
  }

  template <class T, size_t N>
  const T& one_of(const T (&choices)[N]) {
    return choices[below(N)];
  }

  /// Up to `n` bytes.
  std::span<const uint8_t> take(size_t n) {
    const auto taken = rest_.first(std::min(n, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

 private:
  std::span<const uint8_t> rest_;
};

}  // namespace roce::fuzz
