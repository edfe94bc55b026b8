// The stop flag, and the second signal that ends the process.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/signals.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace uroce::app {
namespace {

// In a child each, since handlers are the whole process's.
int status_of_child(void (*body)()) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Signals, first_one_only_sets_the_flag) {
  const int status = status_of_child([] {
    watch_signals();
    const bool before = stop_requested();
    raise(SIGINT);
    _exit(!before && stop_signal() == SIGINT ? 42 : 1);
  });
  EXPECT_EQ(status, 42);
}

TEST(Signals, second_one_ends_the_process_at_once) {
  const int status = status_of_child([] {
    watch_signals();
    raise(SIGTERM);
    raise(SIGINT);
    _exit(1);
  });
  EXPECT_EQ(status, 128 + SIGINT);
}

TEST(Signals, writing_to_a_closed_pipe_is_no_signal) {
  const int status = status_of_child([] {
    watch_signals();
    int ends[2] = {-1, -1};
    if (pipe(ends) != 0) {
      _exit(1);
    }
    close(ends[0]);
    _exit(write(ends[1], "x", 1) < 0 && !stop_requested() ? 42 : 1);
  });
  EXPECT_EQ(status, 42);
}

TEST(Signals, flag_can_be_reset) {
  const int status = status_of_child([] {
    watch_signals();
    raise(SIGINT);
    reset_stop_signal();
    const bool clear = !stop_requested();
    raise(SIGINT);
    _exit(clear && stop_requested() ? 42 : 1);
  });
  EXPECT_EQ(status, 42);
}

}  // namespace
}  // namespace uroce::app
