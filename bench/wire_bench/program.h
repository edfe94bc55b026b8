// The wire bench as a whole. SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace uroce::wire_bench {

/// Everything from the command line to the exit code: 0 measured, 1 failed, 2 wrong arguments, 128
/// and its number after a signal.
int run_program(int argc, char** argv);

}  // namespace uroce::wire_bench
