// Runs the suite dpdk: DPDK can be started once per process, so all tests share one start.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>

#include <gtest/gtest.h>

#include "port/dpdk/eal.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  roce::EalConfig config;
  config.vdevs = {"net_null0"};
  if (const roce::Status status = roce::start_eal(config); !status) {
    std::fprintf(stderr, "%s\n", status.error().reason.c_str());
    return 1;
  }
  const int result = RUN_ALL_TESTS();
  roce::stop_eal();
  return result;
}
