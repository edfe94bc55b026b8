// Progress: a line a second about a long run, on a terminal only and never in the way of results.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include <roce/endpoint.h>

namespace uroce::app {

class Progress {
 public:
  /// `wanted` says whether a line may be printed at all; without a terminal none is. `total`:
  /// messages of the run, if it is known.
  Progress(bool wanted, uint64_t message_size, std::optional<uint64_t> total);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Call it as often as it suits; `done` counts messages.
  void update(roce::Instant now, uint64_t done) {
    if (now >= next_) {
      show(now, done);
    }
  }

  /// Removes the line.
  void clear();

 private:
  void show(roce::Instant now, uint64_t done);

  bool wanted_;
  uint64_t size_;
  std::optional<uint64_t> total_;
  roce::Instant start_;
  roce::Instant next_;  // 0: the first call tells the start
  roce::Instant last_;
  uint64_t last_done_ = 0;
  bool shown_ = false;
};

}  // namespace uroce::app
