// Findings as text.
// SPDX-License-Identifier: BSD-3-Clause
#include "finding.h"

#include <algorithm>

#include <fmt/format.h>

namespace uroce::doctor {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::slow:
      return "slow";
    case Verdict::bad:
      return "BAD";
    case Verdict::unseen:
      return "unseen";
  }
  return {};
}

std::string text_of(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<7}{:<11}{}\n", name_of(finding.verdict), finding.check, finding.what);
    if (!finding.fix.empty()) {
      text += fmt::format("{:<18}fix: {}\n", "", finding.fix);
    }
  }
  const auto count = [&findings](Verdict verdict) {
    return std::count_if(findings.begin(), findings.end(),
                         [verdict](const Finding& f) { return f.verdict == verdict; });
  };
  return text + fmt::format("{} ok, {} slow, {} bad, {} not seen by this user\n",
                            count(Verdict::ok), count(Verdict::slow), count(Verdict::bad),
                            count(Verdict::unseen));
}

int exit_code(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.verdict == Verdict::bad; })
             ? 1
             : 0;
}

}  // namespace uroce::doctor
