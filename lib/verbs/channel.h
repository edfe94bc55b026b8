// ChannelState: completion events on their way from the engine to the application. A queue is told
// once an arming, so nothing here is on the data path.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include <roce/verbs.h>

#include "semaphore_fd.h"

namespace roce::verbs::detail {

struct CqState;

class ChannelState {
 public:
  /// Thread: the engine's.
  void tell(CqState& cq);
  /// Takes the oldest event and counts it as unacknowledged; waits as the descriptor's mode says.
  std::shared_ptr<CqState> take();
  /// Forgets the events of a queue that is going.
  void forget(const CqState& cq);
  int fd() const { return fd_.get(); }

 private:
  std::mutex mutex_;
  std::deque<CqState*> events_;
  SemaphoreFd fd_{SemaphoreFd::Mode::blocking};
};

}  // namespace roce::verbs::detail
