// The program of the rule cases: GoogleTest, and the list of what each rule is covered by.
//
//   rule_cases [--coverage=FILE] [GoogleTest's arguments]
//
// Ends with the line `N rules, M cases, K rules without a case`; FILE gets the list.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstring>
#include <fstream>

#include <gtest/gtest.h>

#include "script/coverage.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
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
