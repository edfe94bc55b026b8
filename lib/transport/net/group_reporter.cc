// Reports and their times.
// SPDX-License-Identifier: BSD-3-Clause
#include "net/group_reporter.h"

#include <algorithm>

#include "net/link_frames.h"

namespace roce {

void GroupReporter::join(Instant now, const Gid& group) {
  if (group == Gid::from(kAllNodes)) {
    return;
  }
  next_[group] = now + kFirstInterval;
  deadline_ = std::min(deadline_, now + kFirstInterval);
  pending_.push_back({group, true});
}

void GroupReporter::leave(const Gid& group) {
  if (next_.erase(group) > 0) {
    pending_.push_back({group, false});
  }
}

void GroupReporter::fall_silent(const Gid& group) {
  next_.erase(group);
}

void GroupReporter::on_timeout(Instant now) {
  if (now < deadline_) {
    return;
  }
  deadline_ = kNever;
  for (auto& [group, next] : next_) {
    if (next <= now) {
      pending_.push_back({group, true});
      next = now + kInterval;
    }
    deadline_ = std::min(deadline_, next);
  }
}

size_t GroupReporter::pull(uint8_t* out) {
  while (!pending_.empty()) {
    const Report report = pending_.front();
    pending_.pop_front();
    const std::optional<Gid> source = local_.source_for(
        report.group.is_ipv4() ? report.group : Gid::from(link_local_address(local_.mac)));
    if (source) {
      return write_group_report(local_, {*source, report.group, report.joined}, out);
    }
  }
  return 0;
}

}  // namespace roce
