// perftest's flags (and ibverbs-utils') that need no more than a word: those that change nothing
// here, and those that cannot be, each with the reason. The flags with an effect are added where
// their effect is. docs/perftest.md is checked against these tables.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string_view>

namespace uroce::app {

struct KnownFlag {
  std::string_view names;  ///< as CLI11 takes them: "-R,--rdma_cm"
  bool takes_value = false;
  std::string_view reason;  ///< why it changes nothing, or why it is refused
};

/// Accepted without an effect.
std::span<const KnownFlag> idle_perftest_flags();
std::span<const KnownFlag> idle_ibverbs_flags();
/// Refused by name.
std::span<const KnownFlag> refused_perftest_flags();
std::span<const KnownFlag> refused_ibverbs_flags();

}  // namespace uroce::app
