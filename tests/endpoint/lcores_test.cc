// Several engines: which CPUs they poll on.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "config_check.h"

namespace roce {
namespace {

using Cpus = std::vector<uint32_t>;

TEST(Lcores, PollOnTheCpusFromTheChosenOneOnAndAround) {
  Config config;
  config.eal.cpu = 3;
  config.engine.lcores = 3;
  EXPECT_EQ(lcore_cpus(config, Cpus{2, 3, 7}), (Cpus{3, 7, 2}));
  config.engine.lcores = 1;
  EXPECT_EQ(lcore_cpus(config, Cpus{2, 3, 7}), Cpus{3});
  config.engine.lcores = 5;  // with other drives they are only hints
  EXPECT_EQ(lcore_cpus(config, Cpus{2, 3, 7}), (Cpus{3, 7, 2, 3, 7}));
}

}  // namespace
}  // namespace roce
