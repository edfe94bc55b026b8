// Histogram: the distribution of times in nanoseconds, in fixed memory. Values below 2048 ns are
// kept exactly, larger ones in classes no wider than 1/1024 of their value (three significant
// digits); least, greatest, mean and deviation are exact.
//
// Thread: its owner's. record() allocates and divides nothing and suits a measuring loop.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace uroce::app {

class Histogram {
 public:
  /// Greatest value told apart from larger ones: 19.5 hours. Larger ones count as this one, except
  /// for min() and max().
  static constexpr uint64_t kMaxNs = (uint64_t{1} << 46U) - 1;

  Histogram();

  void record(uint64_t ns) {
    min_ = ns < min_ ? ns : min_;
    max_ = ns > max_ ? ns : max_;
    ns = ns < kMaxNs ? ns : kMaxNs;
    ++counts_[class_of(ns)];
    ++count_;
    sum_ += ns;
    squares_ += Wide{ns} * ns;
  }

  /// Adds all of `other`'s values.
  void merge(const Histogram& other);

  void clear();

  uint64_t count() const { return count_; }
  /// Least and greatest recorded value; 0 when empty.
  uint64_t min() const { return count_ == 0 ? 0 : min_; }
  uint64_t max() const { return max_; }
  /// 0 when empty.
  double mean() const;
  /// Deviation of a sample (divisor n - 1); 0 for fewer than two values.
  double stdev() const;

  /// The value at nearest rank ceil(percent / 100 * count), the upper end of its class. `percent`
  /// is cut to 0..100; 0 gives min() and 100 gives max(). 0 when empty.
  uint64_t percentile(double percent) const;

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr unsigned kExactBits = 11;  // classes start where values need more bits

  static size_t class_of(uint64_t ns);
  static uint64_t upper_end(size_t index);

  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
  uint64_t min_ = UINT64_MAX;
  uint64_t max_ = 0;
  Wide sum_ = 0;
  Wide squares_ = 0;
};

}  // namespace uroce::app
