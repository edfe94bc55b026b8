// The window's four PSNs through sending, acknowledging, retiring and rewinding, around the wrap.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/send_window.h"

#include <gtest/gtest.h>

namespace roce {
namespace {

class SendWindowTest : public testing::Test {
 protected:
  SendWindowTest() { window_.reset(Psn(0xfffffe)); }

  void post(SendOpcode opcode) {
    SendWqe* const wqe = queue_.reserve();
    *wqe = SendWqe{};
    wqe->opcode = opcode;
    queue_.commit();
    queue_.publish();
  }

  /// Posts a message of `psns` packets and sends `sent` of them.
  void send(SendOpcode opcode, uint32_t psns, uint32_t sent) {
    post(opcode);
    ASSERT_NE(window_.candidate(), nullptr);
    window_.admit(psns);
    if (sent > 0) {
      window_.sent_up_to(window_.next() + sent);
    }
  }

  SendQueue queue_{8, 0};
  SendWindow window_{queue_, 64};
};

TEST_F(SendWindowTest, PsnsWrapInsideAMessage) {
  send(SendOpcode::send, 4, 4);
  EXPECT_EQ(window_.next(), Psn(2));
  EXPECT_TRUE(window_.outstanding(Psn(0xffffff)));
  EXPECT_TRUE(window_.outstanding(Psn(1)));
  EXPECT_FALSE(window_.outstanding(Psn(2)));
  EXPECT_FALSE(window_.outstanding(Psn(0xfffffd)));
  window_.retire_oldest();
  EXPECT_TRUE(window_.drained());
}

TEST_F(SendWindowTest, AfterARewindAnAckOfTheOriginalIsStillBelieved) {
  send(SendOpcode::send, 2, 2);
  send(SendOpcode::send, 2, 2);
  window_.rewind();
  EXPECT_EQ(window_.in_flight(), 0u);
  EXPECT_TRUE(window_.resending());
  EXPECT_TRUE(window_.outstanding(Psn(1)));
  window_.retire_oldest();
  EXPECT_EQ(window_.next(), Psn(0)) << "what was acknowledged is not sent again";
  window_.acknowledge_up_to(Psn(1));
  EXPECT_EQ(window_.next(), Psn(1));
}

TEST_F(SendWindowTest, IsHalvedAtEachLossAndGrowsByOneAWindow) {
  send(SendOpcode::send, 100, 31);
  EXPECT_TRUE(window_.has_room());
  window_.narrow();
  window_.narrow();
  EXPECT_FALSE(window_.has_room()) << "16 of 64";
  window_.acknowledge_up_to(window_.una() + 15);
  EXPECT_FALSE(window_.has_room()) << "16 under way";
  window_.widen(15);
  EXPECT_FALSE(window_.has_room()) << "no whole window has arrived yet";
  window_.widen(1);
  EXPECT_TRUE(window_.has_room()) << "17";
  window_.sent_up_to(window_.next() + 1);
  EXPECT_FALSE(window_.has_room());
  window_.open_fully();
  EXPECT_TRUE(window_.has_room());
}

TEST_F(SendWindowTest, IsNeverNarrowerThanSixteen) {
  send(SendOpcode::send, 100, 15);
  for (int i = 0; i < 10; ++i) {
    window_.narrow();
  }
  EXPECT_TRUE(window_.has_room());
  window_.sent_up_to(window_.next() + 1);
  EXPECT_FALSE(window_.has_room());
}

TEST_F(SendWindowTest, AsksForFourAcknowledgementsAWindowHoweverNarrow) {
  const auto asked = [this](uint32_t psns) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < psns; ++i) {
      n += window_.wants_ack(Psn(i)) ? 1 : 0;
    }
    return n;
  };
  EXPECT_EQ(asked(64), 4u);
  window_.narrow();
  EXPECT_EQ(asked(32), 4u);
  window_.narrow();
  window_.narrow();
  EXPECT_EQ(asked(16), 4u);
}

/// E7.
TEST_F(SendWindowTest, FewLeaveTogetherWhileTheWindowIsNarrowOrAPacketIsRepaired) {
  const size_t usually = window_.packets_at_once();
  EXPECT_GT(usually, kTxBurst);
  window_.narrow();
  EXPECT_EQ(window_.packets_at_once(), 4u);
  window_.open_fully();
  EXPECT_EQ(window_.packets_at_once(), usually);
  send(SendOpcode::send, 100, 7);
  window_.ask_repair(false);
  EXPECT_EQ(window_.packets_at_once(), 4u);
  window_.end_repair();
  EXPECT_EQ(window_.packets_at_once(), usually);
}

/// E7.
TEST(SendWindow, IsTwiceAsWideDuringARepairUnlessThePeerCouldNotKeepAll) {
  const auto room = [](uint32_t packets) {
    SendQueue queue(8, 0);
    SendWindow window(queue, packets);
    window.reset(Psn(0));
    *queue.reserve() = SendWqe{};
    queue.commit();
    queue.publish();
    EXPECT_NE(window.candidate(), nullptr);
    window.admit(4096);
    window.sent_up_to(Psn(1));
    window.ask_repair(false);
    while (window.has_room()) {
      window.sent_up_to(window.next() + 1);
    }
    return window.in_flight();
  };
  EXPECT_EQ(room(64), 128u);
  EXPECT_EQ(room(256), 512u);
  EXPECT_EQ(room(400), 512u);
  EXPECT_EQ(room(1024), 1024u);
}

TEST_F(SendWindowTest, ReadsAreCountedInFlightFromTheirRequestToTheirRetirement) {
  send(SendOpcode::rdma_read, 3, 3);
  send(SendOpcode::fetch_add, 1, 0);
  EXPECT_EQ(window_.reads_in_flight(), 1u);
  EXPECT_EQ(window_.reads_admitted(), 2u);
  window_.rewind();
  EXPECT_EQ(window_.reads_in_flight(), 0u);
  window_.retire_oldest();
  EXPECT_EQ(window_.reads_in_flight(), 0u);
  EXPECT_EQ(window_.reads_admitted(), 1u);
  window_.sent_up_to(window_.next() + 1);
  EXPECT_EQ(window_.reads_in_flight(), 1u);
  window_.retire_oldest();
  EXPECT_EQ(window_.reads_admitted(), 0u);
}

}  // namespace
}  // namespace roce
