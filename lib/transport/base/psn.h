// Packet sequence numbers: 24-bit serial numbers that wrap (IBTA vol. 1, 9.7.2).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace roce {

/// A 24-bit serial number. There is no operator<: serial numbers have no total order, only a signed
/// distance, which is meaningful while both lie within 2^23 of each other.
class Psn {
 public:
  static constexpr uint32_t kMask = 0xffffff;

  constexpr Psn() = default;
  /// Keeps the low 24 bits of `value`.
  constexpr explicit Psn(uint32_t value) : value_(value & kMask) {}

  constexpr uint32_t value() const { return value_; }

  /// Signed distance from `other` to this one: positive when this one is later.
  constexpr int32_t since(Psn other) const {
    return static_cast<int32_t>((value_ - other.value_) << 8) >> 8;
  }

  friend constexpr Psn operator+(Psn p, uint32_t n) { return Psn(p.value_ + n); }
  friend constexpr Psn operator-(Psn p, uint32_t n) { return Psn(p.value_ - n); }
  friend constexpr bool operator==(Psn, Psn) = default;

 private:
  uint32_t value_ = 0;
};

}  // namespace roce
