// The commit that this program was built from, for reports.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace roce::swarm {

/// As `git describe` has it; "-dirty" behind it: with changes that were not committed.
const char* commit();

}  // namespace roce::swarm
