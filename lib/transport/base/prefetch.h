// Asking for memory before it is needed.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace roce {

/// Asks for all cache lines of an object. No fault, whatever the address.
template <class T>
void prefetch_object(const T& object) {
  constexpr size_t kLine = 64;
  const char* const bytes = reinterpret_cast<const char*>(&object);
  for (size_t i = 0; i < sizeof(T); i += kLine) {
    __builtin_prefetch(bytes + i);
  }
  __builtin_prefetch(bytes + sizeof(T) - 1);
}

}  // namespace roce
