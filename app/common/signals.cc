// The signal handler and its flag.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace uroce::app {
namespace {

std::atomic<int> arrived{0};
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");

void on_signal(int number) {
  if (arrived.exchange(number) != 0) {
    _exit(128 + number);
  }
}

}  // namespace

void watch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;  // without SA_RESTART: a sleeping wait ends at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
}

int stop_signal() {
  return arrived.load(std::memory_order_relaxed);
}

void reset_stop_signal() {
  arrived = 0;
}

}  // namespace uroce::app
