// The real libibverbs underneath: calls on objects that are not ours are passed on to it, so that
// hardware devices of the machine keep working beside uroce's. The replacement of libibverbs has
// none underneath: there, such calls fail.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cerrno>
#include <type_traits>

namespace roce::ibv {

/// Address of the real library's public function, or nullptr when there is no real library. Each of
/// the two libraries has its own: real_beneath.cc and no_real.cc.
void* real_function(const char* name);

/// Calls the real function; without one the call fails with EOPNOTSUPP.
template <class Result, class... Parameters, class... Arguments>
Result pass_on(Result (*)(Parameters...), const char* name, Arguments... arguments) {
  auto* const function = reinterpret_cast<Result (*)(Parameters...)>(real_function(name));
  if (function != nullptr) {
    return function(arguments...);
  }
  errno = EOPNOTSUPP;
  if constexpr (std::is_pointer_v<Result>) {
    return nullptr;
  } else if constexpr (!std::is_void_v<Result>) {
    return static_cast<Result>(EOPNOTSUPP);
  }
}

}  // namespace roce::ibv

/// First line of a public function: leaves it for the real one unless `context` is ours.
#define UROCE_PASS_ON(context, function, ...)                       \
  if (!roce::ibv::is_ours(context)) {                               \
    return roce::ibv::pass_on(&(function), #function, __VA_ARGS__); \
  }                                                                 \
  static_assert(true)

/// Visible outside the library.
#define UROCE_PUBLIC extern "C" __attribute__((visibility("default")))
