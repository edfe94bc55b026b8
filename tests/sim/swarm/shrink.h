// Shrinking: from a schedule that fails to the smallest part of it that fails in the same way.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>

#include "sim/swarm/case.h"

namespace roce::swarm {

/// Runs a case and says what is wrong with it; empty: nothing.
using Trial = std::function<std::string(const Case&)>;

/// The same violation without one more fault of frames or one more event is not to be had: the
/// result is minimal in that sense. A case that does not fail comes back as it is.
Case shrink(const Case& failing, const Trial& trial);

/// Whether two violations are of the same kind: they differ in numbers only.
bool same_kind(const std::string& a, const std::string& b);

/// What one end of a case does, as a case of the packet scripts.
struct ScriptCase {
  std::string text;     ///< a file of tests/script
  std::string refusal;  ///< why there is none; else empty
};

/// Runs the case, which has to be a simple one, and writes down its end at `host`. `rules`: ids of
/// docs/rules.md, separated by blanks; `command`: what repeats it.
ScriptCase script_case(const Case& c, size_t host, const std::string& rules,
                       const std::string& command);

/// The command that makes it.
std::string repeated_by(const Case& c, size_t host, const std::string& rules);

/// The host that a violation names; 0: none.
size_t host_in(const std::string& violation);

/// Writes what happens in the case as a text for people, to PREFIX.txt, and captures of all ports
/// next to it. Empty, or why that was not possible.
std::string write_script(const Case& c, const std::string& prefix, const std::string& violation,
                         const std::string& command);

}  // namespace roce::swarm
