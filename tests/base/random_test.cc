// The system's source of unguessable numbers.
// SPDX-License-Identifier: BSD-3-Clause
#include "base/random.h"

#include <set>

#include <gtest/gtest.h>

namespace roce {
namespace {

TEST(SystemRandom, DoesNotRepeatItself) {
  RandomSource random = system_random();
  std::set<uint64_t> seen;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_TRUE(seen.insert(random()).second);
  }
}

}  // namespace
}  // namespace roce
