// One whole run of uroce-pingpong: meet the other end, bounce, tell.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "options.h"

namespace uroce::pingpong {

/// Returns the exit code; messages have been printed.
int run(Options options, const roce::Config& config);

}  // namespace uroce::pingpong
