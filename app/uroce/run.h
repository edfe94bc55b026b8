// Starting a program with uroce's library in front of libibverbs.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "options.h"

namespace uroce::launcher {

/// Checks the settings, hands them on in the environment and becomes the program; the process's
/// environment is changed. Returns only when that cannot be, with the exit code and one line on
/// stderr.
int run(const Options& options);

}  // namespace uroce::launcher
