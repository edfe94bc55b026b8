// A rule is a row of a table in docs/rules.md whose first cell is an id: a capital letter and
// digits.
// SPDX-License-Identifier: BSD-3-Clause
#include "script/coverage.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

#include "base/drop_reason.h"
#include "script/registry.h"

namespace roce::script {
namespace {

/// The cases that have reached each drop reason, a line a reason.
std::string drop_reasons() {
  std::string out;
  for (size_t i = 1; i < kDropReasonCount; ++i) {
    std::set<std::string> names;
    for (const auto& [reason, name] : reached_reasons()) {
      if (static_cast<size_t>(reason) == i) {
        names.insert(name);
      }
    }
    out += "dropped as " + std::string(kDropReasonNames[i]) + ":";
    for (const std::string& name : names) {
      out += " " + name;
    }
    out += "\n";
  }
  return out;
}

}  // namespace

std::string unreached_reasons() {
  std::string out;
  for (size_t i = 1; i < kDropReasonCount; ++i) {
    const auto& reached = reached_reasons();
    if (std::none_of(reached.begin(), reached.end(),
                     [i](const auto& r) { return static_cast<size_t>(r.first) == i; })) {
      out += std::string(kDropReasonNames[i]) + " ";
    }
  }
  return out;
}

Coverage Coverage::load() {
  Coverage c;
  const std::regex row(R"(\| ([A-Z][0-9]+[a-z]?) \|.*)");
  std::ifstream rules(ROCE_RULES_FILE);
  for (std::string line; std::getline(rules, line);) {
    std::smatch match;
    if (std::regex_match(line, match, row)) {
      c.rules.push_back(match[1]);
    }
  }
  std::ifstream pending(ROCE_PENDING_FILE);
  for (std::string line; std::getline(pending, line);) {
    std::istringstream words(line);
    std::string id;
    if (words >> id && id[0] != '#') {
      std::getline(words >> std::ws, c.pending[id]);
    }
  }
  for (const RuleCase& one : all_cases()) {
    for (const std::string& rule : one.rules) {
      c.cases[rule].push_back(one.name);
    }
  }
  c.case_count = all_cases().size();
  return c;
}

bool Coverage::known(const std::string& rule) const {
  return std::find(rules.begin(), rules.end(), rule) != rules.end();
}

std::string Coverage::text() const {
  std::string out;
  for (const std::string& rule : rules) {
    const auto found = cases.find(rule);
    out += rule + ":";
    if (found == cases.end()) {
      out += pending.contains(rule) ? " PENDING: " + pending.at(rule) : " NO CASE";
    } else {
      for (const std::string& name : found->second) {
        out += " " + name;
      }
    }
    out += "\n";
  }
  return out + drop_reasons() + summary() + "\n";
}

std::string Coverage::summary() const {
  const auto without = std::count_if(rules.begin(), rules.end(),
                                     [this](const std::string& r) { return !covered(r); });
  return std::to_string(rules.size()) + " rules, " + std::to_string(case_count) + " cases, " +
         std::to_string(without) + " rules without a case";
}

namespace {

TEST(RuleCoverage, EveryRuleHasACase) {
  const Coverage coverage = Coverage::load();
  EXPECT_FALSE(coverage.rules.empty()) << "no rules in " << ROCE_RULES_FILE;
  std::string without;
  for (const std::string& rule : coverage.rules) {
    without += coverage.covered(rule) || coverage.pending.contains(rule) ? "" : rule + " ";
  }
  EXPECT_EQ(without, "") << "rules without a case";
}

TEST(RuleCoverage, CasesNameOnlyRulesThatExist) {
  const Coverage coverage = Coverage::load();
  for (const auto& [rule, cases] : coverage.cases) {
    EXPECT_TRUE(coverage.known(rule)) << "rule " << rule << " of case " << cases.front();
  }
}

TEST(RuleCoverage, ARuleIsInTheDocumentOnce) {
  const Coverage coverage = Coverage::load();
  const std::set<std::string> once(coverage.rules.begin(), coverage.rules.end());
  EXPECT_EQ(once.size(), coverage.rules.size());
}

TEST(RuleCoverage, PendingRulesExistAndHaveNoCase) {
  const Coverage coverage = Coverage::load();
  for (const auto& [rule, why] : coverage.pending) {
    EXPECT_TRUE(coverage.known(rule)) << rule;
    EXPECT_FALSE(coverage.covered(rule)) << rule << " has a case: take it off the list";
    EXPECT_FALSE(why.empty()) << rule << " has no reason";
  }
}

TEST(RuleCoverage, CaseNamesAreUnique) {
  std::set<std::string> names;
  for (const RuleCase& one : all_cases()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
  }
}

}  // namespace
}  // namespace roce::script
