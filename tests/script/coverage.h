// Coverage: the rules of docs/rules.md, the cases that check each, and the rules whose cases are
// yet to be written (tests/script/pending_rules.txt).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace roce::script {

struct Coverage {
  std::vector<std::string> rules;                         ///< in the order of the document
  std::map<std::string, std::vector<std::string>> cases;  ///< rule -> names of its cases
  std::map<std::string, std::string> pending;             ///< rule -> why it has none
  size_t case_count = 0;

  /// Reads the files and the register.
  static Coverage load();

  bool covered(const std::string& rule) const { return cases.contains(rule); }
  bool known(const std::string& rule) const;
  /// A line a rule.
  std::string text() const;
  /// "N rules, M cases, K rules without a case"
  std::string summary() const;
};

/// Names of the DropReasons that no case of this run has reached.
std::string unreached_reasons();

}  // namespace roce::script
