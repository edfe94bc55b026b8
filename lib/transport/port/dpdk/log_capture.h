// Keeps what DPDK and its drivers say away from the terminal, and remembers the first lines of it,
// so that a failing call can say why in one sentence. One for the process.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <string>

namespace roce::dpdk {

/// Makes DPDK log into the capture, and to stderr too when `verbose`. Thread: set-up.
void capture_log(bool verbose);

/// Forgets what was logged so far. Thread: any.
void clear_log();

/// "`what`: " and the first lines logged since clear_log(), which name the cause (later ones only
/// repeat that something failed), or `what` alone when nothing was logged. Thread: any.
std::string with_log(std::string what);

/// While one lives, stdout and stderr of this process's C library lead nowhere, unless
/// capture_log() was asked to be verbose: EAL prints its usage text and libbpf its doubts past
/// every log. Set-up only: another thread's output would be lost too.
class SilencedStdio {
 public:
  SilencedStdio();
  ~SilencedStdio();
  SilencedStdio(const SilencedStdio&) = delete;
  SilencedStdio& operator=(const SilencedStdio&) = delete;

 private:
  FILE* out_;
  FILE* err_;
  FILE* sink_ = nullptr;
};

}  // namespace roce::dpdk
