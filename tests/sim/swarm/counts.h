// The count table: what fixed schedules cost in packets, retransmissions, timeouts, NAKs and
// virtual time, by loss. A change of the protocol's conduct shows in it, and changes it in the same
// commit.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace roce::swarm {

/// The table as it stands in tests/sim/counts.txt, or what went wrong.
std::string count_table();

}  // namespace roce::swarm
