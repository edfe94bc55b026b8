// PeakMeter: the best rate between any post and any completion behind it, as perftest's peak. It
// keeps marks at regular distances. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include <roce/endpoint.h>

namespace uroce::bw {

class PeakMeter {
 public:
  /// `total`: messages of the run; 0, or more than perftest measures a peak for: nothing is kept.
  explicit PeakMeter(uint64_t total) : total_(total) {
    if (total > 0 && total <= kMostMessages) {
      every_ = total / kMarks + 1;
      posts_.reserve(kMarks + 1);
      completions_.reserve(kMarks + 1);
    }
  }

  bool wants_post(uint64_t posted) const { return every_ != 0 && posted >= posts_.size() * every_; }
  /// `posted` were posted before `now`, and more right after it.
  void post(uint64_t posted, roce::Instant now) { posts_.push_back({posted, now}); }
  bool wants_completion(uint64_t completed) const {
    return every_ != 0 && completed >= completions_.size() * every_;
  }
  void completion(uint64_t completed, roce::Instant now) {
    completions_.push_back({completed, now});
  }

  /// Seconds a message in the best stretch; 0 when nothing was kept or the run ended early.
  double seconds(uint64_t completed) const {
    if (completed != total_ || posts_.empty() || completions_.empty()) {
      return 0;
    }
    double best = std::numeric_limits<double>::infinity();
    for (const Mark& post : posts_) {
      for (const Mark& completion : completions_) {
        if (completion.message > post.message) {
          const auto time = static_cast<double>((completion.time - post.time).ns);
          best = std::min(best, time / static_cast<double>(completion.message - post.message));
        }
      }
    }
    return best / 1e9;
  }

 private:
  static constexpr uint64_t kMostMessages = 20000;
  static constexpr uint64_t kMarks = 1024;
  struct Mark {
    uint64_t message = 0;
    roce::Instant time;
  };

  uint64_t total_;
  uint64_t every_ = 0;  // 0: nothing is kept
  std::vector<Mark> posts_;
  std::vector<Mark> completions_;
};

}  // namespace uroce::bw
