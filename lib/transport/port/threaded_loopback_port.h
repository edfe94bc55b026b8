// ThreadedLoopbackLink: as LoopbackLink, but each of the two ports may be used by a thread of its
// own (benches with a core a side). Each port has its own pool; the receiver of a frame sends the
// buffer home through a second ring. Owns both ports and all buffers.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "port/loopback_port.h"
#include "port/port.h"

namespace roce {

/// Behaves as LoopbackLink does. Thread: one for each port; creation and destruction while neither
/// port is in use.
class ThreadedLoopbackLink {
 public:
  /// config.buffers counts for each side. The only place that allocates.
  explicit ThreadedLoopbackLink(const LoopbackConfig& config = {});
  ~ThreadedLoopbackLink();
  ThreadedLoopbackLink(const ThreadedLoopbackLink&) = delete;
  ThreadedLoopbackLink& operator=(const ThreadedLoopbackLink&) = delete;

  /// The two ends. They live as long as the link.
  Port& a();
  Port& b();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace roce
