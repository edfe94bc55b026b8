// AF_PACKET over a veth pair in a network namespace of the test's own: the way to a kernel's stack.
// SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "port/dpdk/dpdk_port.h"
#include "port/dpdk/eal.h"
#include "port/test_frames.h"

namespace roce::test {
namespace {

// Leaves the calling thread in a new namespace with the veth pair uroce-a, uroce-b.
bool make_wire() {
  if (::unshare(CLONE_NEWNET) != 0) {
    return false;
  }
  // No neighbour discovery on the wire.
  for (const char* which : {"all", "default"}) {
    std::ofstream("/proc/sys/net/ipv6/conf/" + std::string(which) + "/disable_ipv6") << "1\n";
  }
  return std::system(
             "ip link add uroce-a mtu 9100 type veth peer name uroce-b mtu 9100 && "
             "ip link set uroce-a up && ip link set uroce-b up") == 0;
}

std::unique_ptr<Port> open_packet_port(const std::string& device, const std::string& interface) {
  const Status added =
      add_device(device + ",iface=" + interface + ",framesz=8192,blocksz=8192,framecnt=64");
  EXPECT_TRUE(added) << added.error().reason;
  DpdkPortConfig config;
  config.device = device;
  config.mtu = 4200;
  config.rx_buffers = config.tx_buffers = 1024;
  auto port = open_dpdk_port(config);
  EXPECT_TRUE(port) << port.error().reason;
  return port ? std::move(*port) : nullptr;
}

// The next frame to UDP port 4791; an empty one when none comes.
std::vector<uint8_t> receive(Port& port) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (std::chrono::steady_clock::now() < end) {
    Frame frame;
    if (port.rx_burst({}, {&frame, 1}) == 1) {
      std::vector<uint8_t> bytes = bytes_of(frame);
      port.release({&frame, 1});
      if (bytes.size() >= kMinFrameLen && load_be<uint16_t>(&bytes[36]) == 4791) {
        return bytes;
      }
    }
  }
  return {};
}

void send(Port& port, const std::vector<uint8_t>& bytes, uint32_t in_buffer) {
  Frame frame;
  ASSERT_EQ(port.alloc({&frame, 1}), 1U);
  fill(frame, {bytes.begin(), bytes.begin() + in_buffer});
  const Segment rest{&bytes[in_buffer - 1] + 1, static_cast<uint32_t>(bytes.size()) - in_buffer};
  frame.segments = &rest;
  frame.segment_count = rest.len != 0 ? 1 : 0;
  ASSERT_EQ(port.tx_burst({}, {&frame, 1}), 1U);
}

void pass_frames() {
  auto a = open_packet_port("net_af_packet0", "uroce-a");
  auto b = open_packet_port("net_af_packet1", "uroce-b");
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_TRUE(a->link_up());
  for (uint64_t i = 0; i < 200; ++i) {
    const auto bytes = roce_bytes(i, 4214);
    send(*a, bytes, i % 2 == 0 ? 4214 : 64);
    ASSERT_EQ(receive(*b), bytes) << "frame " << i;
    send(*b, bytes, 4214);
    ASSERT_EQ(receive(*a), bytes) << "answer " << i;
  }
  EXPECT_EQ(a->gather_done(), 100U);
}

void refuse_small_slots() {
  ASSERT_TRUE(add_device("net_af_packet2,iface=uroce-a"));
  DpdkPortConfig config;
  config.device = "net_af_packet2";
  config.mtu = 4200;
  const auto port = open_dpdk_port(config);
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().reason,
            "device 'net_af_packet2': an MTU of 4200 does not fit its framesz of 2048; create it "
            "with framesz=8192,blocksz=8192");
}

TEST(AfPacket, CarriesPathMtu4096BothWays) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root for a network namespace";
  }
  bool wired = false;
  std::thread namespaced([&] {
    wired = make_wire();
    if (wired) {
      pass_frames();
      refuse_small_slots();
    }
  });
  namespaced.join();
  if (!wired) {
    GTEST_SKIP() << "no network namespace or no veth here";
  }
}

}  // namespace
}  // namespace roce::test
