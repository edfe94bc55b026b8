// Opening a port: what is refused, in which words, and what the port says of itself.
// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <rte_malloc.h>

#include "dpdk/ring_pair.h"
#include "port/dpdk/dpdk_port.h"
#include "port/dpdk/eal.h"

namespace roce::test {
namespace {

DpdkPortConfig config_for(const std::string& device, uint32_t mtu = 1500) {
  DpdkPortConfig config;
  config.device = device;
  config.mtu = mtu;
  config.rx_descriptors = config.tx_descriptors = 64;
  config.rx_buffers = config.tx_buffers = 64;
  return config;
}

std::string refusal(const DpdkPortConfig& config) {
  const auto port = open_dpdk_port(config);
  EXPECT_FALSE(port);
  return port ? "" : port.error().reason;
}

TEST(PortSetup, NamesTheDevicesThereAre) {
  const auto port = open_dpdk_port(config_for("net_absent0"));
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, ENODEV);
  EXPECT_TRUE(port.error().reason.starts_with("no device 'net_absent0'; this process has: "));
  EXPECT_NE(port.error().reason.find("net_null0"), std::string::npos);
}

TEST(PortSetup, RefusesADeviceThatIsOpen) {
  RingPair pair;
  const auto second = open_dpdk_port(config_for(pair.name_a()));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, EBUSY);
  EXPECT_NE(second.error().reason.find("is in use; close the port that has it open"),
            std::string::npos);
}

TEST(PortSetup, RefusesAnMtuOutOfRange) {
  EXPECT_EQ(refusal(config_for("net_null0", 100)),
            "device 'net_null0': an MTU of 100 is outside 576..9728; 1500 and 9000 are usual");
  EXPECT_NE(refusal(config_for("net_null0", 9729)).find("outside 576..9728"), std::string::npos);
}

TEST(PortSetup, RefusesAnMtuThatMemifWouldCut) {
  ASSERT_TRUE(add_device("net_memif7,role=server,socket=@uroce-setup-test,bsize=4096"));
  EXPECT_EQ(refusal(config_for("net_memif7", 4200)),
            "device 'net_memif7': an MTU of 4200 does not fit its bsize of 4096; create both sides "
            "with bsize=8192");
  // The refusal left the device as it was.
  const auto port = open_dpdk_port(config_for("net_memif7", 4000));
  ASSERT_TRUE(port) << port.error().reason;
  EXPECT_EQ((*port)->info().mtu, 4000U);
  EXPECT_FALSE((*port)->link_up());
}

TEST(PortSetup, RefusesTooManyBuffers) {
  DpdkPortConfig config = config_for("net_null0");
  config.rx_buffers = 2'000'000;
  EXPECT_NE(refusal(config).find("2000000 buffers for one direction are more than"),
            std::string::npos);
  ASSERT_TRUE(add_device("net_null8"));
  config = config_for("net_null8", 9000);
  config.rx_buffers = 500'000;
  EXPECT_NE(refusal(config).find("no memory for 500000 buffers of 9"), std::string::npos);
}

TEST(PortSetup, RefusesAMacOfMany) {
  ASSERT_TRUE(add_device("net_null9"));
  DpdkPortConfig config = config_for("net_null9");
  config.mac = kBroadcastMac;
  EXPECT_NE(refusal(config).find("MAC address"), std::string::npos);
}

TEST(PortSetup, TakesTheMacGivenOrMakesAnIndividualOne) {
  RingPair pair;
  const MacAddress mac = pair.a().info().mac;
  EXPECT_FALSE(mac.is_multicast());
  EXPECT_NE(mac, MacAddress{});
  EXPECT_NE(mac, pair.b().info().mac);
  ASSERT_TRUE(add_device("net_null6"));
  DpdkPortConfig config = config_for("net_null6");
  config.mac = MacAddress{{2, 0, 0, 0, 0, 9}};
  const auto port = open_dpdk_port(config);
  ASSERT_TRUE(port) << port.error().reason;
  EXPECT_EQ((*port)->info().mac, *config.mac);
}

TEST(PortSetup, SaysWhatThePortIs) {
  RingPair pair(4200);
  const PortInfo& info = pair.a().info();
  EXPECT_EQ(info.name, pair.name_a());
  EXPECT_EQ(info.mtu, 4200U);
  EXPECT_EQ(info.max_segments, 8U);
  EXPECT_FALSE(info.ipv4_checksum);
  EXPECT_TRUE(pair.a().link_up());
}

TEST(PortSetup, ReceivingHasBuffersOfItsOwn) {
  RingPair pair;
  EXPECT_NE(device_of(pair.a()).rx_pool(), device_of(pair.a()).tx_pool());
}

TEST(PortSetup, ADeviceCanBeMadeAgainAfterItsPortIsClosed) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(add_device("net_null5"));
    const auto port = open_dpdk_port(config_for("net_null5"));
    ASSERT_TRUE(port) << port.error().reason;
  }
}

TEST(PortSetup, ThePoolsOfAClosedDeviceServeTheNextOfItsSize) {
  const auto open = [](uint32_t mtu) {
    EXPECT_TRUE(add_device("net_null5"));
    return open_dpdk_port(config_for("net_null5", mtu));
  };
  auto port = open(1500);
  ASSERT_TRUE(port) << port.error().reason;
  const rte_mempool* const rx = device_of(**port).rx_pool();
  const rte_mempool* const tx = device_of(**port).tx_pool();
  port->reset();
  port = open(4200);
  ASSERT_TRUE(port) << port.error().reason;
  EXPECT_NE(device_of(**port).rx_pool(), rx);
  EXPECT_NE(device_of(**port).rx_pool(), tx);
  port->reset();
  port = open(1500);
  ASSERT_TRUE(port) << port.error().reason;
  EXPECT_TRUE(device_of(**port).rx_pool() == rx || device_of(**port).rx_pool() == tx);
  EXPECT_NE(device_of(**port).rx_pool(), device_of(**port).tx_pool());
}

TEST(PortSetup, KeptPoolsMakeRoomForAnotherSize) {
  DpdkPortConfig config = config_for("net_null5", 9000);
  rte_malloc_socket_stats heap{};
  ASSERT_EQ(rte_malloc_get_socket_stats(0, &heap), 0);
  // Two pools of more than half of the memory do not fit beside each other.
  const auto most = static_cast<uint32_t>(heap.greatest_free_size / 3 * 2 / 9600);
  for (const uint32_t buffers : {most, most + 8}) {
    ASSERT_TRUE(add_device("net_null5"));
    config.rx_buffers = buffers;
    const auto port = open_dpdk_port(config);
    ASSERT_TRUE(port) << port.error().reason;
  }
}

}  // namespace
}  // namespace roce::test
