// SigpipeGuard: virtio_user writes to its peer's socket as it starts and stops, without asking to
// be spared the signal. A peer that has died must not end this process.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <signal.h>

namespace roce::dpdk {

/// While one lives, a SIGPIPE that the calling thread raises is lost; the process's own handling of
/// the signal is left alone. Set-up only.
class SigpipeGuard {
 public:
  SigpipeGuard() {
    sigset_t pending{};
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~SigpipeGuard() {
    if (!was_pending_) {
      const timespec at_once{};
      sigtimedwait(&pipe_, nullptr, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeGuard(const SigpipeGuard&) = delete;
  SigpipeGuard& operator=(const SigpipeGuard&) = delete;

 private:
  bool was_pending_;
  sigset_t pipe_{};
  sigset_t before_{};
};

}  // namespace roce::dpdk
