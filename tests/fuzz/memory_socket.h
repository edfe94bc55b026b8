// MemorySocket: one end of a connection whose other end has said all it will say and has closed.
// The linker sends the program's calls of send(), recv() and close() here (-Wl,--wrap): the
// system's sockets take longer than all the rest of an input.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string_view>

namespace roce::fuzz {

class MemorySocket {
 public:
  /// A descriptor that the process has not got.
  static constexpr int kFd = 1 << 20;

  /// `bytes` come in pieces of up to `piece`, which must not be 0. What is sent is lost.
  static void open(std::string_view bytes, size_t piece);
  /// Whoever had the descriptor has closed it.
  static bool closed();
};

}  // namespace roce::fuzz
