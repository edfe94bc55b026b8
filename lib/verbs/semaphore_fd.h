// SemaphoreFd: an eventfd in semaphore mode: a pollable count of things to be taken.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "base/check.h"

namespace roce::verbs {

class SemaphoreFd {
 public:
  enum class Mode : uint8_t { blocking, non_blocking };

  explicit SemaphoreFd(Mode mode)
      : fd_(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE | (mode == Mode::blocking ? 0 : EFD_NONBLOCK))) {
    ROCE_CHECK(fd_ >= 0);
  }
  ~SemaphoreFd() { close(fd_); }
  SemaphoreFd(const SemaphoreFd&) = delete;
  SemaphoreFd& operator=(const SemaphoreFd&) = delete;

  int get() const { return fd_; }

  void up() {
    const uint64_t one = 1;
    ROCE_CHECK(write(fd_, &one, sizeof one) == sizeof one);
  }
  /// Takes one; waits for it while the descriptor is in blocking mode. False: none is there, or the
  /// wait was interrupted.
  bool down() {
    uint64_t one = 0;
    return read(fd_, &one, sizeof one) == sizeof one;
  }
  /// Takes one if there is one, whatever the descriptor's mode.
  bool try_down() {
    pollfd p{fd_, POLLIN, 0};
    return ::poll(&p, 1, 0) == 1 && down();
  }

 private:
  int fd_;
};

}  // namespace roce::verbs
