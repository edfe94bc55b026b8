// Sums of counters, whatever they count: no member can be forgotten.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace roce {

/// Adds each of the counts in `more` to the same one in `sum`. T has nothing but uint64_t members.
template <class T>
void add_counts(T& sum, const T& more) {
  using Counts = std::array<uint64_t, sizeof(T) / sizeof(uint64_t)>;
  auto counts = std::bit_cast<Counts>(sum);
  const auto others = std::bit_cast<Counts>(more);
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i] += others[i];
  }
  sum = std::bit_cast<T>(counts);
}

}  // namespace roce
