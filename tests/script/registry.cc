// Registration with GoogleTest; each case runs once for each pair of start PSNs.
// SPDX-License-Identifier: BSD-3-Clause
#include "script/registry.h"

#include <array>
#include <sstream>
#include <utility>

#include <gtest/gtest.h>

namespace roce::script {
namespace {

/// First PSNs of the peer's and of the device's requests. All but the first pair let each case's
/// packets cross the wrap, before, after and inside of its first messages, or the sign's change.
constexpr auto kStarts = std::to_array<std::pair<uint32_t, uint32_t>>(
    {{0x001000, 0x500000}, {0xffffff, 0xfffffe}, {0xfffffe, 0xffffff}, {0x7fffff, 0xfffffd}});

class CaseTest final : public testing::Test {
 public:
  CaseTest(std::string name, MakeCase make) : name_(std::move(name)), make_(std::move(make)) {}

  void TestBody() override {
    for (const auto& [peer_psn, device_psn] : kStarts) {
      const auto script = make_({name_, peer_psn, device_psn});
      try {
        script->run();
        script->finish();
      } catch (const CaseFailed&) {
        return;  // has been reported
      }
      if (HasFailure()) {
        return;
      }
    }
  }

 private:
  std::string name_;
  MakeCase make_;
};

}  // namespace

std::vector<RuleCase>& all_cases() {
  static std::vector<RuleCase> cases;
  return cases;
}

void register_case(const std::string& rules, const std::string& name, const char* file, int line,
                   MakeCase make) {
  RuleCase entry{{}, name};
  std::string suite;
  std::istringstream ids(rules);
  for (std::string id; ids >> id;) {
    suite += suite.empty() ? id : "_" + id;
    entry.rules.push_back(id);
  }
  all_cases().push_back(std::move(entry));
  const std::string full = suite + "." + name;
  testing::RegisterTest(
      suite.c_str(), name.c_str(), nullptr, nullptr, file, line,
      [full, make = std::move(make)]() -> testing::Test* { return new CaseTest(full, make); });
}

}  // namespace roce::script
