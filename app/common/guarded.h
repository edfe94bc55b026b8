// The outermost frame of a program: no exception leaves main().
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <exception>
#include <string_view>

namespace uroce::app {

/// What body() returns. When it throws (no memory; a file that a library cannot write), 1, after a
/// line on stderr that says what.
template <class Body>
int guarded(std::string_view program, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(program.size()), program.data(),
                 error.what());
    return 1;
  }
}

}  // namespace uroce::app
