// The preloaded library stands in front of the real one.
// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>

#include "real.h"

namespace roce::ibv {

void* real_function(const char* name) {
  return dlsym(RTLD_NEXT, name);
}

}  // namespace roce::ibv
