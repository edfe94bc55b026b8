// One end of the wire bench: a process that opens one side of the wire and does what its parent
// tells it. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <roce/config.h>

namespace uroce::wire_bench {

/// Answers commands on the socket `control` until the parent is gone. The body of a process of its
/// own, since DPDK starts once in one. Returns the process's exit code.
int serve_parent(int control, const roce::Config& config);

}  // namespace uroce::wire_bench
