// When an ACK leaves that could leave at once: what the application sends in answer is what
// somebody waits for, so it goes first, and the ACK not in the same burst. For how long it
// waits at most: tests/script/responder_ack_cases.cc.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "engine/direct_rig.h"
#include "port/wrapping_port.h"

namespace roce::sim {
namespace {

using Bursts = std::vector<size_t>;

/// Notes how many frames it is given at a time.
class BurstPort final : public WrappingPort {
 public:
  explicit BurstPort(Port& below) : WrappingPort(below) {}
  size_t tx_burst(Instant now, std::span<Frame> frames) override {
    bursts.push_back(frames.size());
    return WrappingPort::tx_burst(now, frames);
  }

  Bursts bursts;
};

/// A message has come to b, in a poll of its own.
class AckTiming : public testing::Test {
 protected:
  AckTiming() {
    connect(a_, address_of(2), b_.qp.qpn());
    connect(b_, address_of(1), a_.qp.qpn());
    for (uint64_t id = 0; id < 8; ++id) {
      EXPECT_EQ(a_.recv(id, 0, 64), 0);
      EXPECT_EQ(b_.recv(id, 0, 64), 0);
    }
    a_.device.poll();
    b_.device.poll();
    EXPECT_EQ(a_.send(1, 0, 64), 0);
    a_.device.poll();
    port_.bursts.clear();
    b_.device.poll();
    ibv_wc wc{};
    EXPECT_EQ(b_.cq.poll({&wc, 1}), 1);
    EXPECT_EQ(acks(), 0u) << "the application could not answer yet";
  }

  uint64_t acks() const { return b_.device.qp_counters().acks_sent; }

  VirtualClock clock_;
  LoopbackLink link_;
  BurstPort port_{link_.b()};
  std::unique_ptr<verbs::Device> near_ = device_of(link_.a(), clock_, 1, link_.b());
  std::unique_ptr<verbs::Device> far_ = device_of(port_, clock_, 2, link_.a());
  RigSide a_{*near_, RigOptions{}, 0xaa};
  RigSide b_{*far_, RigOptions{}, 0xbb};
};

TEST_F(AckTiming, A10_WithoutAnAnswerItLeavesInTheNextPoll) {
  b_.device.poll();
  EXPECT_EQ(acks(), 1u);
  EXPECT_EQ(port_.bursts, (Bursts{1}));
}

TEST_F(AckTiming, A10_ItLeavesInABurstBehindThatOfTheAnswer) {
  ASSERT_EQ(b_.send(2, 0, 64), 0);
  b_.device.poll();
  b_.device.poll();
  EXPECT_EQ(acks(), 1u);
  EXPECT_EQ(port_.bursts, (Bursts{1, 1}));
}

}  // namespace
}  // namespace roce::sim
