// SIGINT and SIGTERM as a flag that the programs look at between bursts.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace uroce::app {

/// From now on the first SIGINT or SIGTERM only sets the flag; a second one ends the process at
/// once with 128 + its number. SIGPIPE is ignored. Call once, before threads are started.
void watch_signals();

/// The number of the signal that arrived, 0 if none. Thread: any.
int stop_signal();

inline bool stop_requested() {
  return stop_signal() != 0;
}

/// Forgets a signal that arrived, for tests.
void reset_stop_signal();

}  // namespace uroce::app
