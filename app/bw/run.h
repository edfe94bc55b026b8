// One whole run of uroce-bw: meet the other end, stream, tell.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "options.h"

namespace uroce::bw {

/// Returns the exit code; messages have been printed.
int run(Options options, const roce::Config& config);

}  // namespace uroce::bw
