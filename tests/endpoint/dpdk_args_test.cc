// What DPDK is told for each kind of port.
// SPDX-License-Identifier: BSD-3-Clause
#include "dpdk_args.h"

#include <gtest/gtest.h>

namespace roce {
namespace {

using Strings = std::vector<std::string>;

Config config_of(Side side, const std::vector<std::pair<std::string, std::string>>& settings) {
  ConfigSources sources;
  sources.default_side = side;
  sources.flags = {{"port.socket", "/run/w.sock", "--set"}};
  for (const auto& [key, value] : settings) {
    sources.flags.push_back({key, value, "--set"});
  }
  auto config = load_config(sources);
  EXPECT_TRUE(config) << config.error().reason;
  return config ? *config : Config{};
}

TEST(DpdkArgs, virtio_user_is_vhost_on_the_listening_side) {
  const DpdkArgs args = dpdk_args(config_of(Side::a, {}));
  EXPECT_EQ(args.device, "net_vhost0");
  EXPECT_EQ(args.vdevs, Strings{"net_vhost0,iface=/run/w.sock,queues=1"});
  EXPECT_TRUE(args.pci_allow.empty());
}

TEST(DpdkArgs, virtio_user_asks_for_the_packed_vector_path) {
  const DpdkArgs args = dpdk_args(config_of(Side::b, {}));
  EXPECT_EQ(args.device, "net_virtio_user0");
  EXPECT_EQ(args.vdevs, Strings{"net_virtio_user0,path=/run/w.sock,queue_size=1024,packed_vq=1,"
                                "mrg_rxbuf=0,in_order=1,vectorized=1"});
}

TEST(DpdkArgs, as_many_queues_as_lcores) {
  const auto argument = [](Side side, const std::string& kind) {
    return dpdk_args(config_of(side, {{"engine.lcores", "2"},
                                      {"eal.memory_mb", "1024"},
                                      {"port.kind", kind},
                                      {"port.interface", "eth0"}}))
        .vdevs[0];
  };
  EXPECT_EQ(argument(Side::a, "virtio-user"), "net_vhost0,iface=/run/w.sock,queues=2");
  EXPECT_NE(argument(Side::b, "virtio-user").find(",packed_vq=1,queues=2,cq=1,"),
            std::string::npos);
  EXPECT_TRUE(argument(Side::a, "af_packet").ends_with(",qpairs=2"));
  EXPECT_TRUE(argument(Side::a, "af_xdp").ends_with(",queue_count=2"));
}

TEST(DpdkArgs, split_ring_and_smaller_ring_follow_the_settings) {
  const DpdkArgs args =
      dpdk_args(config_of(Side::b, {{"port.packed", "false"}, {"port.rx_descriptors", "200"}}));
  EXPECT_EQ(args.vdevs, Strings{"net_virtio_user0,path=/run/w.sock,queue_size=256,mrg_rxbuf=0,"
                                "in_order=1,vectorized=1"});
}

TEST(DpdkArgs, memif_buffers_take_any_frame) {
  const Config a = config_of(Side::a, {{"port.kind", "memif"}});
  EXPECT_EQ(dpdk_args(a).vdevs, Strings{"net_memif0,role=server,id=0,socket=/run/w.sock,"
                                        "socket-abstract=no,bsize=16384,rsize=10"});
  const Config b = config_of(Side::b, {{"port.kind", "memif"}, {"port.rx_descriptors", "1025"}});
  EXPECT_EQ(dpdk_args(b).vdevs, Strings{"net_memif0,role=client,id=0,socket=/run/w.sock,"
                                        "socket-abstract=no,bsize=16384,rsize=11"});
}

TEST(DpdkArgs, kernel_ports_name_their_interface) {
  const auto vdev = [](const char* kind) {
    return dpdk_args(config_of(Side::a, {{"port.kind", kind}, {"port.interface", "if0"}})).vdevs;
  };
  EXPECT_EQ(vdev("af_packet"), Strings{"net_af_packet0,iface=if0,blocksz=16384,framesz=16384,"
                                       "framecnt=2048,qdisc_bypass=1"});
  EXPECT_EQ(vdev("af_xdp"), Strings{"net_af_xdp0,iface=if0"});
  EXPECT_EQ(vdev("tap"), Strings{"net_tap0,iface=if0"});
}

TEST(DpdkArgs, pci_opens_only_its_device) {
  const DpdkArgs args =
      dpdk_args(config_of(Side::a, {{"port.kind", "pci"}, {"port.pci", "0000:01:00.0"}}));
  EXPECT_EQ(args.device, "0000:01:00.0");
  EXPECT_EQ(args.pci_allow, Strings{"0000:01:00.0"});
  EXPECT_TRUE(args.vdevs.empty());
}

TEST(DpdkArgs, ring_and_raw_vdev_pass_through) {
  EXPECT_EQ(dpdk_args(config_of(Side::a, {{"port.kind", "ring"}})).vdevs, Strings{"net_ring0"});
  const DpdkArgs raw =
      dpdk_args(config_of(Side::a, {{"port.kind", "vdev"}, {"port.vdev", "net_pcap0,iface=eth1"}}));
  EXPECT_EQ(raw.device, "net_pcap0");
  EXPECT_EQ(raw.vdevs, Strings{"net_pcap0,iface=eth1"});
}

TEST(DpdkArgs, only_two_process_wires_use_a_socket) {
  EXPECT_TRUE(uses_socket(config_of(Side::a, {})));
  EXPECT_TRUE(uses_socket(config_of(Side::a, {{"port.kind", "memif"}})));
  EXPECT_FALSE(uses_socket(config_of(Side::a, {{"port.kind", "ring"}})));
}

TEST(DpdkArgs, af_packet_buffers_are_counted_with_the_kernels_frame) {
  EXPECT_GT(
      buffer_bytes(config_of(
          Side::a, {{"port.kind", "af_packet"}, {"port.interface", "if0"}, {"port.mtu", "1500"}})),
      16384U);
  EXPECT_LT(buffer_bytes(config_of(Side::a, {{"port.mtu", "1500"}})), 2048U);
}

}  // namespace
}  // namespace roce
