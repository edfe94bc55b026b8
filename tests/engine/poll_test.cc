// What a turn of the loop tells about itself.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "port/loopback_port.h"

namespace roce {
namespace {

TEST(EnginePoll, SaysWhetherAFrameCameOrWent) {
  LoopbackLink link;
  EngineConfig config;
  config.tables = {.max_qp = 8, .max_mr = 8, .max_cq = 8, .max_pd = 8};
  config.addresses.mac = link.a().info().mac;
  Instant now{1'000'000};
  Engine engine(link.a(), config, system_random(), now);
  while (engine.poll(now)) {
  }
  EXPECT_FALSE(engine.poll(now)) << "nothing is there";

  std::array<Frame, 1> frames{};
  ASSERT_EQ(link.b().alloc(frames), 1u);
  frames[0].len = 60;
  ASSERT_EQ(link.b().tx_burst(now, frames), 1u);
  bool came = false;
  for (int i = 0; i < 1000 && !came; ++i, now = now + Duration::from_us(1)) {
    came = engine.poll(now);
  }
  EXPECT_TRUE(came) << "though it was dropped at once";
  EXPECT_FALSE(engine.poll(now));
}

}  // namespace
}  // namespace roce
