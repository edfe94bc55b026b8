// ProcessPair: the two ends of the wire bench as child processes, and the way to talk to them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

#include <array>

#include <roce/config.h>

#include "wire_bench/messages.h"

namespace uroce::wire_bench {

class ProcessPair {
 public:
  ProcessPair() = default;
  /// Ends both processes and waits for them.
  ~ProcessPair();
  ProcessPair(const ProcessPair&) = delete;
  ProcessPair& operator=(const ProcessPair&) = delete;

  /// Starts both. Requires a process with one thread. Call once.
  roce::Status start(const std::array<roce::Config, 2>& configs);

  roce::Status tell(roce::Side side, const Command& command);
  /// Waits for an answer. The error is the end's own, or names its death.
  roce::Result<Reply> hear(roce::Side side);
  /// Both in one.
  roce::Result<Reply> ask(roce::Side side, const Command& command);

  /// Has `passive` and `active`, the latter at end `active_side`, done at once; the answers in this
  /// order.
  roce::Result<std::array<Reply, 2>> run_both(const Command& passive, const Command& active,
                                              roce::Side active_side);

 private:
  struct Child {
    pid_t pid = -1;
    int control = -1;
  };

  Child& child(roce::Side side) { return children_[side == roce::Side::a ? 0 : 1]; }

  std::array<Child, 2> children_;
};

}  // namespace uroce::wire_bench
