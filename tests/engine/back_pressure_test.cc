// A port that takes no frames: queue pairs still time out and give up (rule Q4).
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <roce/verbs.h>

#include "port/wrapping_port.h"
#include "sim/rc_rig.h"

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

/// Brings the queue pair to RTS, with a short timer and three retries.
void connect(RigSide& side, const Gid& peer, uint32_t peer_qpn) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  ASSERT_TRUE(
      side.qp.modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = peer_qpn;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.grh.sgid_index = 1;
  std::memcpy(attr.ah_attr.grh.dgid.raw, peer.bytes.data(), peer.bytes.size());
  ASSERT_TRUE(side.qp.modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                                       IBV_QP_MIN_RNR_TIMER));
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 8;
  attr.retry_cnt = 3;
  ASSERT_TRUE(side.qp.modify(attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

TEST(BackPressure, Q4_ADeadPortDoesNotKeepAQueuePairFromGivingUp) {
  LoopbackLink link;
  StickyPort port(link.a());
  VirtualClock clock;
  EngineConfig config;
  config.tables = {.max_qp = 8, .max_mr = 8, .max_cq = 8, .max_pd = 8};
  config.addresses.mac = port.info().mac;
  const Gid self = Gid::from(Ipv4Address{{192, 0, 2, 1}});
  const Gid peer = Gid::from(Ipv4Address{{192, 0, 2, 2}});
  ASSERT_TRUE(config.addresses.add(self, 24));
  config.static_neighbours.emplace_back(peer, link.b().info().mac);
  const auto device = *verbs::Device::create(port, clock, config, {});
  RigSide side(*device, RigOptions{}, 0);
  connect(side, peer, 99);
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
  EngineConfig config;
  config.tables = {.max_qp = 8, .max_mr = 8, .max_cq = 8, .max_pd = 8};
  config.addresses.mac = port.info().mac;
  const Gid self = Gid::from(Ipv4Address{{192, 0, 2, 1}});
  ASSERT_TRUE(config.addresses.add(self, 24));
  const auto device = *verbs::Device::create(port, clock, config, {});
  RigSide x(*device, RigOptions{}, 1);
  RigSide y(*device, RigOptions{}, 2);
  connect(x, self, y.qp.qpn());
  connect(y, self, x.qp.qpn());
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
