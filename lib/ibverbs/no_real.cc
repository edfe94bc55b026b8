// The replacement is the only libibverbs of its process.
// SPDX-License-Identifier: BSD-3-Clause
#include "real.h"

namespace roce::ibv {

void* real_function(const char* /*name*/) {
  return nullptr;
}

}  // namespace roce::ibv
