// Classes of the histogram: an exact part, then 1024 classes for each further power of two.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace uroce::app {

Histogram::Histogram() : counts_(class_of(kMaxNs) + 1) {}

// With s = bits above kExactBits, value >> s lies in 1024..2047 and names the class within its
// power of two; s * 1024 in front of it makes the numbering gapless from 2048 on.
size_t Histogram::class_of(uint64_t ns) {
  const auto bits = static_cast<unsigned>(std::bit_width(ns));
  const unsigned shift = bits > kExactBits ? bits - kExactBits : 0;
  return (size_t{shift} << (kExactBits - 1)) + (ns >> shift);
}

uint64_t Histogram::upper_end(size_t index) {
  constexpr size_t kExact = size_t{1} << kExactBits;
  if (index < kExact) {
    return index;
  }
  const size_t shift = (index >> (kExactBits - 1)) - 1;
  const uint64_t mantissa = index - (shift << (kExactBits - 1));
  return ((mantissa + 1) << shift) - 1;
}

void Histogram::merge(const Histogram& other) {
  std::transform(counts_.begin(), counts_.end(), other.counts_.begin(), counts_.begin(),
                 [](uint64_t a, uint64_t b) { return a + b; });
  count_ += other.count_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  squares_ += other.squares_;
}

void Histogram::clear() {
  *this = Histogram();
}

double Histogram::mean() const {
  return count_ == 0 ? 0.0 : static_cast<double>(static_cast<long double>(sum_) / count_);
}

// The sums are whole numbers, so a spread below a nanosecond on a mean of seconds is still right as
// long as the exact form fits 128 bits; beyond that the spread is large and rounding harmless.
double Histogram::stdev() const {
  if (count_ < 2) {
    return 0.0;
  }
  const auto n = static_cast<long double>(count_);
  constexpr Wide kHalf = Wide{1} << 63U;
  long double numerator = 0;
  if (squares_ < (Wide{1} << 127U) / count_ && sum_ < kHalf) {
    numerator = static_cast<long double>(squares_ * count_ - sum_ * sum_);
  } else {
    const auto sum = static_cast<long double>(sum_);
    numerator = std::max(0.0L, static_cast<long double>(squares_) * n - sum * sum);
  }
  return static_cast<double>(std::sqrt(numerator / n / (n - 1)));
}

uint64_t Histogram::percentile(double percent) const {
  if (count_ == 0) {
    return 0;
  }
  // 99.9 / 100 * 1000 must not become 999.0000000000001 and hence rank 1000.
  const double exact = std::clamp(percent, 0.0, 100.0) / 100.0 * static_cast<double>(count_);
  const auto rank = static_cast<uint64_t>(std::ceil(exact - exact * 1e-14));
  if (rank >= count_) {
    return max_;
  }
  uint64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= std::max<uint64_t>(rank, 1)) {
      return rank == 0 ? min_ : std::clamp(upper_end(i), min_, max_);
    }
  }
  return max_;
}

}  // namespace uroce::app
