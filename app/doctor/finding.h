// What a check of uroce-doctor has found, and the command that puts it right.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace uroce::doctor {

enum class Verdict : uint8_t {
  ok,
  slow,    ///< it works, but costs speed or evenness
  bad,     ///< the configured device will not work
  unseen,  ///< this user may not look
};

std::string_view name_of(Verdict verdict);

struct Finding {
  Verdict verdict{};
  std::string check;  ///< "hugepages"
  std::string what;
  std::string fix;  ///< a command; empty where there is nothing to do
};

using Findings = std::vector<Finding>;

/// One line a finding, the fix on a line of its own, and a last line that counts.
std::string text_of(const Findings& findings);

/// 1 if anything is bad, else 0.
int exit_code(const Findings& findings);

}  // namespace uroce::doctor
