// Timeline: how many messages were complete at which time of a run, in fixed memory: when it is
// full, every other mark goes. For rates over time, margins, and how sure an average is.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace uroce::bw {

class Timeline {
 public:
  struct Mark {
    double seconds = 0;  ///< since the start
    uint64_t messages = 0;
  };
  static constexpr size_t kMost = 1024;

  Timeline() { marks_.reserve(kMost); }

  bool wants(double seconds) const { return seconds >= next_; }
  /// Both never decrease.
  void add(double seconds, uint64_t messages) {
    if (marks_.size() == kMost) {
      for (size_t i = 0; i < kMost / 2; ++i) {
        marks_[i] = marks_[2 * i + 1];
      }
      marks_.resize(kMost / 2);
      interval_ *= 2;
    }
    marks_.push_back({seconds, messages});
    next_ = seconds + interval_;
  }
  const std::vector<Mark>& marks() const { return marks_; }

  /// Messages at a time, between marks in proportion.
  double at(double seconds) const {
    const auto after = std::lower_bound(marks_.begin(), marks_.end(), seconds,
                                        [](const Mark& m, double s) { return m.seconds < s; });
    if (after == marks_.end()) {
      return marks_.empty() ? 0 : static_cast<double>(marks_.back().messages);
    }
    const Mark before = after == marks_.begin() ? Mark{} : *(after - 1);
    const double span = after->seconds - before.seconds;
    const double share = span > 0 ? (seconds - before.seconds) / span : 1;
    return static_cast<double>(before.messages) +
           share * static_cast<double>(after->messages - before.messages);
  }

  /// Half of the 95 % confidence interval of the rate, in messages a second: from the rates of
  /// twenty stretches of equal length (Student's t for 19 degrees of freedom). 0: too few marks.
  double confidence() const {
    constexpr int kStretches = 20;
    constexpr double kStudent = 2.093;
    if (marks_.size() < size_t{2} * kStretches) {
      return 0;
    }
    const double length = marks_.back().seconds / kStretches;
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < kStretches; ++i) {
      const double rate = (at(length * (i + 1)) - at(length * i)) / length;
      sum += rate;
      squares += rate * rate;
    }
    const double mean = sum / kStretches;
    const double variance = std::max(0.0, squares - kStretches * mean * mean) / (kStretches - 1);
    return kStudent * std::sqrt(variance / kStretches);
  }

 private:
  std::vector<Mark> marks_;
  double interval_ = 0.0001;
  double next_ = 0;
};

}  // namespace uroce::bw
