// SliceMeter: a rate as the median (or a higher percentile) of 2 ms slices, which tells what
// happens in a quiet moment of a machine that has other work, as the mean does not.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace uroce::wire_bench {

class SliceMeter {
 public:
  /// Measures `measured` (at least one slice) from `begin` on. With `spread`, for messages so large
  /// that few end in a slice, what was counted is spread evenly over the time since the last count.
  SliceMeter(roce::Instant begin, roce::Duration measured, bool spread)
      : begin_(begin),
        next_(begin),
        spread_(spread),
        slices_(std::max<size_t>(1, static_cast<size_t>(measured.ns / kWidth.ns))) {}

  roce::Instant end() const { return begin_ + kWidth * static_cast<int64_t>(slices_.size()); }

  /// `amount` happened since the call before. Times must not go backwards.
  void add(roce::Instant now, uint64_t amount) {
    pending_ += amount;
    if (now >= next_) {
      settle(now);
    }
  }

  /// A second. `percent`: 0..99.
  double percentile(size_t percent) const {
    std::vector<double> sorted = slices_;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() * percent / 100] * 1e9 / static_cast<double>(kWidth.ns);
  }

 private:
  static constexpr roce::Duration kWidth = roce::Duration::from_ms(2);
  static constexpr roce::Duration kStep = roce::Duration::from_us(20);  // keeps add() cheap

  // What came before the first time is the warm-up's.
  void settle(roce::Instant now) {
    const roce::Instant from = last_;
    const auto amount = static_cast<double>(pending_);
    last_ = now;
    next_ = now + kStep;
    pending_ = 0;
    if (from == roce::Instant{}) {
      return;
    }
    if (spread_) {
      spread(from, now, amount / static_cast<double>((now - from).ns));
    } else if (now < end()) {
      slices_[slice_of(now)] += amount;
    }
  }

  void spread(roce::Instant from, roce::Instant to, double rate) {
    for (to = std::min(to, end()); from < to;) {
      const size_t slice = slice_of(from);
      const roce::Instant until = std::min(to, begin_ + kWidth * (static_cast<int64_t>(slice) + 1));
      slices_[slice] += rate * static_cast<double>((until - from).ns);
      from = until;
    }
  }

  size_t slice_of(roce::Instant t) const {
    return static_cast<size_t>((t - begin_).ns / kWidth.ns);
  }

  roce::Instant begin_;
  roce::Instant last_;  // zero until the first time
  roce::Instant next_;
  bool spread_;
  uint64_t pending_ = 0;
  std::vector<double> slices_;
};

}  // namespace uroce::wire_bench
