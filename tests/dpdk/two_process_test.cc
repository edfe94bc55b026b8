// Two processes over a packed virtio ring and a UNIX socket, the wire of the default set-up: frames
// pass whole, and neither side goes down with the other.
// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "dpdk/peer_process.h"
#include "port/dpdk/dpdk_port.h"
#include "port/dpdk/eal.h"
#include "port/test_frames.h"

namespace roce::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLongest = std::chrono::seconds(20);  // the machine may be busy

class TwoProcesses : public testing::Test {
 protected:
  TwoProcesses() { std::filesystem::create_directory(directory_); }
  ~TwoProcesses() override {
    port_.reset();
    std::filesystem::remove_all(directory_);
  }

  std::string vhost(const std::string& name) const {
    return name + ",iface=" + socket_ + ",queues=1";
  }
  std::string virtio(const std::string& name) const {
    return name + ",path=" + socket_ +
           ",queue_size=1024,packed_vq=1,mrg_rxbuf=0,in_order=1,vectorized=1";
  }

  void open_port(const std::string& description) {
    const Status added = add_device(description);
    ASSERT_TRUE(added) << added.error().reason;
    DpdkPortConfig config;
    config.device = description.substr(0, description.find(','));
    config.tx_buffers = 1;  // raised to what can get stuck in the ring
    auto port = open_dpdk_port(config);
    ASSERT_TRUE(port) << port.error().reason;
    port_ = std::move(*port);
  }

  void start_peer(const std::string& description) {
    peer_ = std::make_unique<PeerProcess>(std::vector<std::string>{description});
    ASSERT_EQ(peer_->read_line(), "ready");
  }

  bool wait_until(const std::function<bool()>& condition) {
    const auto end = Clock::now() + kLongest;
    while (!condition()) {
      if (Clock::now() > end) {
        return false;
      }
      poll();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  // Receives and drops what is there, and offers a frame, as an engine with work would.
  void poll() {
    std::array<Frame, 32> frames;
    port_->release(std::span(frames).first(port_->rx_burst({}, frames)));
    const size_t n = port_->alloc(std::span(frames).first(4));
    for (size_t i = 0; i < n; ++i) {
      fill(frames[i], roce_bytes(i, 2000));
    }
    const size_t sent = port_->tx_burst({}, std::span(frames).first(n));
    port_->release(std::span(frames).first(n).subspan(sent));
  }

  // `count` frames of random lengths go out and come back, at most 64 under way.
  void exchange(uint64_t count) {
    Prng prng(3);
    std::vector<std::vector<uint8_t>> under_way(64);
    uint64_t sent = 0;
    uint64_t back = 0;
    const auto end = Clock::now() + kLongest;
    while (back < count && Clock::now() < end) {
      Frame frame;
      if (sent < count && sent - back < under_way.size() && port_->alloc({&frame, 1}) == 1) {
        auto& bytes = under_way[sent % under_way.size()];
        bytes = roce_bytes(sent, kMinFrameLen + 10 + prng.below(9014 - kMinFrameLen - 9));
        fill(frame, bytes);
        const bool accepted = port_->tx_burst({}, {&frame, 1}) == 1;
        sent += accepted ? 1 : 0;
        port_->release({&frame, accepted ? 0U : 1U});
      }
      if (port_->rx_burst({}, {&frame, 1}) == 1) {
        ASSERT_EQ(bytes_of(frame), under_way[back % under_way.size()]) << "frame " << back;
        ++back;
        port_->release({&frame, 1});
      } else {
        std::this_thread::yield();
      }
    }
    EXPECT_EQ(back, count);
  }

  // Drops what is still under way, so that an exchange starts from silence.
  void quiesce() {
    std::array<Frame, 32> frames;
    for (auto quiet = Clock::now(); Clock::now() - quiet < std::chrono::milliseconds(100);) {
      const size_t got = port_->rx_burst({}, frames);
      port_->release(std::span(frames).first(got));
      quiet = got != 0 ? Clock::now() : quiet;
    }
  }

  std::string directory_ = testing::TempDir() + "uroce-test-" + std::to_string(::getpid());
  std::string socket_ = directory_ + "/wire";
  std::unique_ptr<Port> port_;
  std::unique_ptr<PeerProcess> peer_;
};

TEST_F(TwoProcesses, VhostSideSurvivesItsPeerAndTakesANewOne) {
  ASSERT_NO_FATAL_FAILURE(open_port(vhost("net_vhost0")));
  EXPECT_FALSE(port_->link_up());
  ASSERT_NO_FATAL_FAILURE(start_peer(virtio("net_virtio_user0")));
  ASSERT_TRUE(wait_until([&] { return port_->link_up(); }));
  quiesce();
  ASSERT_NO_FATAL_FAILURE(exchange(3000));
  peer_->kill();
  EXPECT_TRUE(wait_until([&] { return !port_->link_up(); }));
  for (int i = 0; i < 2000; ++i) {
    poll();
  }
  ASSERT_NO_FATAL_FAILURE(start_peer(virtio("net_virtio_user0")));
  ASSERT_TRUE(wait_until([&] { return port_->link_up(); }));
  quiesce();
  ASSERT_NO_FATAL_FAILURE(exchange(1000));
  EXPECT_EQ(peer_->finish(), 0);
}

TEST_F(TwoProcesses, VirtioSideSurvivesItsPeer) {
  ASSERT_NO_FATAL_FAILURE(start_peer(vhost("net_vhost0")));
  ASSERT_NO_FATAL_FAILURE(open_port(virtio("net_virtio_user0")));
  ASSERT_TRUE(wait_until([&] { return port_->link_up(); }));
  quiesce();
  ASSERT_NO_FATAL_FAILURE(exchange(5000));
  peer_->kill();
  EXPECT_TRUE(wait_until([&] { return !port_->link_up(); }));
  for (int i = 0; i < 2000; ++i) {
    poll();
  }
}

// The split ring gives a sent buffer back only when the ring is nearly full.
TEST_F(TwoProcesses, SplitRingNeverRunsOutOfBuffers) {
  ASSERT_NO_FATAL_FAILURE(start_peer(vhost("net_vhost0")));
  ASSERT_NO_FATAL_FAILURE(open_port("net_virtio_user0,queue_size=1024,path=" + socket_));
  ASSERT_TRUE(wait_until([&] { return port_->link_up(); }));
  quiesce();
  ASSERT_NO_FATAL_FAILURE(exchange(3000));
}

TEST_F(TwoProcesses, MemifCarriesJumboFrames) {
  const std::string options = ",socket=" + socket_ + ",socket-abstract=no,bsize=16384,rsize=8";
  ASSERT_NO_FATAL_FAILURE(start_peer("net_memif0,role=server" + options));
  ASSERT_NO_FATAL_FAILURE(open_port("net_memif0,role=client" + options));
  ASSERT_TRUE(wait_until([&] { return port_->link_up(); }));
  quiesce();
  ASSERT_NO_FATAL_FAILURE(exchange(2000));
}

}  // namespace
}  // namespace roce::test
