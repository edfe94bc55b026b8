// PeerProcess: a running port_peer. Its end is the end of the object.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace roce::test {

class PeerProcess {
 public:
  explicit PeerProcess(const std::vector<std::string>& arguments);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  /// The next line that it prints, without the newline; empty at its end.
  std::string read_line();

  /// SIGKILL, and waits.
  void kill();

  /// Closes its input and waits; returns its exit status, or 128 plus the signal that ended it.
  int finish();

  pid_t pid() const { return pid_; }

 private:
  int wait();

  pid_t pid_ = -1;
  int to_child_ = -1;
  int from_child_ = -1;
};

}  // namespace roce::test
