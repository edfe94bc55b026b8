// The real libibverbs underneath: calls on objects that are not ours are passed on to it, so that
// hardware devices of the machine keep working beside uroce's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlfcn.h>

#include <cerrno>
#include <type_traits>

namespace roce::ibv {

/// The next definition of a public function, or nullptr when no real library is loaded.
template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// Calls the real function; without one the call fails with EOPNOTSUPP.
template <class Result, class... Parameters, class... Arguments>
Result pass_on(Result (*)(Parameters...), const char* name, Arguments... arguments) {
  auto* const function = real<Result(Parameters...)>(name);
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
