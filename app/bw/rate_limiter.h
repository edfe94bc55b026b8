// RateLimiter: how many messages may have been posted by now. Pure arithmetic on given times.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include <roce/endpoint.h>

namespace uroce::bw {

class RateLimiter {
 public:
  /// `messages_per_second` 0: no limit. `burst`: messages that may go at once, from 1.
  RateLimiter(double messages_per_second, uint64_t burst)
      : bursts_per_ns_(messages_per_second / 1e9 /
                       static_cast<double>(std::max<uint64_t>(burst, 1))),
        burst_(std::max<uint64_t>(burst, 1)) {}

  bool limits() const { return bursts_per_ns_ > 0; }
  void start(roce::Instant now) { start_ = now; }

  /// Messages since start(). The first burst goes at once; what could not be posted in time is due
  /// all the same.
  uint64_t allowed(roce::Instant now) const {
    const auto due = static_cast<double>((now - start_).ns) * bursts_per_ns_;
    return (static_cast<uint64_t>(due) + 1) * burst_;
  }

 private:
  double bursts_per_ns_;
  uint64_t burst_;
  roce::Instant start_;
};

}  // namespace uroce::bw
