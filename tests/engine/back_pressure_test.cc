// A port that takes no frames: queue pairs still time out and give up (rule Q4).
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <roce/verbs.h>

#include "engine/direct_rig.h"
#include "port/wrapping_port.h"

namespace roce::sim {
namespace {

/// Refuses every frame once it is stuck, as a ring does whose other end has died.
class StickyPort final : public WrappingPort {
 public:
  explicit StickyPort(Port& below) : WrappingPort(below) {}
  size_t tx_burst(Instant now, std::span<Frame> frames) override {
    return stuck ? 0 : WrappingPort::tx_burst(now, frames);
  }
  bool link_up() override { return up; }
  bool stuck = false;
  bool up = true;
};

TEST(BackPressure, Q4_ADeadPortDoesNotKeepAQueuePairFromGivingUp) {
  LoopbackLink link;
  StickyPort port(link.a());
  VirtualClock clock;
  const auto device = device_of(port, clock, 1, link.b());
  RigSide side(*device, RigOptions{}, 0);
  connect(side, address_of(2), 99);
  ASSERT_EQ(side.send(1, 0, 500'000), 0);
  ASSERT_EQ(side.send(2, 0, 10), 0);
  device->poll();
  port.stuck = true;
  ibv_wc wc[2];
  int n = 0;
  for (int us = 0; us < 50'000 && n < 2; us += 10) {
    clock.set(clock.now() + Duration::from_us(10));
    device->poll();
    n += side.cq.poll({wc + n, static_cast<size_t>(2 - n)});
  }
  ASSERT_EQ(n, 2);
  EXPECT_EQ(wc[0].status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(wc[1].status, IBV_WC_WR_FLUSH_ERR);
}

TEST(BackPressure, WithoutALinkFramesAreLostAndThoseForThisNodeGoOn) {
  LoopbackLink link;
  StickyPort port(link.a());
  port.stuck = true;
  port.up = false;
  VirtualClock clock;
  const auto device = device_of(port, clock, 1, link.b());
  RigSide x(*device, RigOptions{}, 1);
  RigSide y(*device, RigOptions{}, 2);
  connect(x, address_of(1), y.qp.qpn());
  connect(y, address_of(1), x.qp.qpn());
  ASSERT_EQ(x.rdma(1, IBV_WR_RDMA_WRITE, 0, 10'000, y, 0), 0);
  ibv_wc wc[1];
  int n = 0;
  for (int us = 0; us < 1000 && n == 0; us += 10) {
    clock.set(clock.now() + Duration::from_us(10));
    device->poll();
    n = x.cq.poll(wc);
  }
  ASSERT_EQ(n, 1);
  EXPECT_EQ(wc[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(y.memory[9'999], 1);
}

}  // namespace
}  // namespace roce::sim
