// The plan of uroce-pingpong: which of a lane's messages have a completion.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "pingpong/plan.h"

namespace uroce::pingpong {
namespace {

TEST(Plan, EveryMessageToAStockPeerHasACompletion) {
  // How many answers a lane of ibv_srq_pingpong gets is not known before, and so not which is last.
  Plan plan{.size = 64, .iterations = 100, .server = true, .stock = true};
  EXPECT_EQ(plan.messages(25).signal_every, 1u);
  plan.stock = false;
  EXPECT_GT(plan.messages(25).signal_every, 1u);
}

}  // namespace
}  // namespace uroce::pingpong
