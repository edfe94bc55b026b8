// Asking for memory before it is needed.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace roce {

/// Asks for the cache lines from `begin` up to `end`, which begins a line. No fault, whatever the
/// addresses.
inline void prefetch_lines(const void* begin, const void* end) {
  constexpr size_t kLine = 64;
  for (const char* at = static_cast<const char*>(begin); at < end; at += kLine) {
    __builtin_prefetch(at);
  }
}

}  // namespace roce
