// Assertions. A failed one is a bug in uroce, never the effect of input: the process stops with the
// place and the condition.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <cstdlib>

namespace roce::detail {

[[noreturn, gnu::cold]] inline void check_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "uroce: internal error: %s does not hold at %s:%d; please report it\n", what,
               file, line);
  std::abort();
}

}  // namespace roce::detail

/// Stays on in release builds.
#define ROCE_CHECK(cond)                                       \
  do {                                                         \
    if (!(cond)) [[unlikely]] {                                \
      ::roce::detail::check_failed(#cond, __FILE__, __LINE__); \
    }                                                          \
  } while (false)

/// For the data path: compiled out of release builds.
#ifdef NDEBUG
#define ROCE_DCHECK(cond) static_cast<void>(0)
#else
#define ROCE_DCHECK(cond) ROCE_CHECK(cond)
#endif
