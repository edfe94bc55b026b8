// The program of the rule cases: GoogleTest, and the list of what each rule is covered by.
//
//   rule_cases [--coverage=FILE] [GoogleTest's arguments]
//
// Ends with the line `N rules, M cases, K rules without a case`; FILE gets the list. A run of all
// cases fails as well when there is a DropReason that no case has reached.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "script/coverage.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int result = RUN_ALL_TESTS();
  const std::string unreached = roce::script::unreached_reasons();
  if (GTEST_FLAG_GET(filter) == "*" && !unreached.empty()) {
    std::printf("drop reasons that no case reaches: %s\n", unreached.c_str());
    result = 1;
  }
  constexpr const char* kOption = "--coverage=";
  const roce::script::Coverage coverage = roce::script::Coverage::load();
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], kOption, std::strlen(kOption)) == 0) {
      std::ofstream(argv[i] + std::strlen(kOption)) << coverage.text();
    }
  }
  std::printf("%s\n", coverage.summary().c_str());
  return result;
}
