// Several queue pairs of one device: a port each, and buffers that belong to all of them.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <string>

#include <gtest/gtest.h>

#include "dpdk/ring_pair.h"
#include "port/dpdk/dpdk_port.h"
#include "port/dpdk/dpdk_port_impl.h"
#include "port/dpdk/eal.h"
#include "port/test_frames.h"

namespace roce::test {
namespace {

DpdkPortConfig config_for(const std::string& device) {
  DpdkPortConfig config;
  config.device = device;
  config.mtu = 1500;
  config.rx_descriptors = config.tx_descriptors = 64;
  config.rx_buffers = config.tx_buffers = 64;
  return config;
}

/// A device whose every queue hands back what is sent on it.
TEST(DpdkQueues, EachIsAPortWhoseFramesAnyOtherMayRelease) {
  ASSERT_TRUE(add_device("net_ring71"));
  auto ports = open_dpdk_queues(config_for("net_ring71"), 3);
  ASSERT_TRUE(ports) << ports.error().reason;
  ASSERT_EQ(ports->size(), 3u);
  rte_mempool* const pool = device_of(*(*ports)[0]).tx_pool();
  const unsigned before = free_buffers(pool);
  for (uint64_t round = 0; round < 2000; ++round) {
    for (size_t i = 0; i < 3; ++i) {
      Frame frame;
      ASSERT_EQ((*ports)[i]->alloc({&frame, 1}), 1u);
      fill(frame, roce_bytes(3 * round + i));
      ASSERT_EQ((*ports)[i]->tx_burst({}, {&frame, 1}), 1u);
    }
    for (size_t i = 0; i < 3; ++i) {
      Frame frame;
      ASSERT_EQ((*ports)[i]->rx_burst({}, {&frame, 1}), 1u);
      EXPECT_EQ(number_of(frame), 3 * round + i);
      (*ports)[(i + 1) % 3]->release({&frame, 1});
    }
  }
  EXPECT_EQ(free_buffers(pool), before);
  EXPECT_EQ((*ports)[1]->info().max_segments, 0u);
  EXPECT_EQ((*ports)[2]->stats().rx_frames, 2000u);
  ports->erase(ports->begin());
  Frame frame;
  EXPECT_EQ((*ports)[0]->rx_burst({}, {&frame, 1}), 0u);  // the device runs on
}

TEST(DpdkQueues, MoreThanThereAreAreRefused) {
  ASSERT_TRUE(add_device("net_vhost71,iface=/tmp/uroce-queues-test.sock,queues=2"));
  const auto ports = open_dpdk_queues(config_for("net_vhost71"), 3);
  ASSERT_FALSE(ports);
  EXPECT_EQ(ports.error().code, EINVAL);
  EXPECT_EQ(ports.error().reason,
            "device 'net_vhost71' (net_vhost) has 2 queue pairs, not 3; set engine.lcores to at "
            "most 2");
  EXPECT_TRUE(open_dpdk_queues(config_for("net_vhost71"), 2));  // it is as it was
}

}  // namespace
}  // namespace roce::test
