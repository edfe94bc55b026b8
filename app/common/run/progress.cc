// Prints over the same line of stderr.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/run/progress.h"

#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

#include "common/report.h"

namespace uroce::app {
namespace {

constexpr roce::Duration kInterval = roce::Duration::from_s(1);

double seconds(roce::Duration time) {
  return static_cast<double>(time.ns) / 1e9;
}

}  // namespace

Progress::Progress(bool wanted, uint64_t message_size, std::optional<uint64_t> total)
    : wanted_(wanted && isatty(STDERR_FILENO) == 1),
      size_(message_size),
      total_(total),
      next_(wanted_ ? roce::Instant{} : roce::kNever) {}

void Progress::show(roce::Instant now, uint64_t done) {
  next_ = now + kInterval;
  if (start_.ns == 0) {
    start_ = last_ = now;
    return;
  }
  const double bytes = static_cast<double>(size_) * static_cast<double>(done - last_done_);
  fmt::print(stderr, "\r\x1b[K{}",
             progress_line(seconds(now - start_), done, total_, bytes / seconds(now - last_)));
  std::fflush(stderr);
  last_ = now;
  last_done_ = done;
  shown_ = true;
}

void Progress::clear() {
  if (shown_) {
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
    shown_ = false;
  }
}

}  // namespace uroce::app
