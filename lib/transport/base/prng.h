// Prng: a fast, repeatable random generator for injected faults, simulations and tests. The same
// seed gives the same numbers on every machine. Guessable: keys and numbers on the wire come from
// base/random.h.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace roce {

/// One step of SplitMix64: moves `state` on and returns the next value. Spreads any seed, also 0.
constexpr uint64_t splitmix64(uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// xoshiro256** by Blackman and Vigna (public domain). One owner, no lock.
class Prng {
 public:
  explicit constexpr Prng(uint64_t seed) {
    for (uint64_t& word : state_) {
      word = splitmix64(seed);
    }
  }
  /// Starts at an exact state, not all zero.
  explicit constexpr Prng(const std::array<uint64_t, 4>& state) : state_(state) {}

  /// 64 even random bits.
  constexpr uint64_t next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// 0 <= value < bound; 0 when bound is 0. Off from even by at most bound / 2^32.
  constexpr uint32_t below(uint32_t bound) {
    return static_cast<uint32_t>(((next() >> 32) * bound) >> 32);
  }

  /// 0 <= value < 1.
  constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  /// True with the given probability: never for 0 and less, always for 1 and more.
  constexpr bool chance(double probability) { return unit() < probability; }

 private:
  std::array<uint64_t, 4> state_{};
};

}  // namespace roce
