// N entries hold N; one more is an overrun for good (spec 4.2, rules R16 and Q10).
// SPDX-License-Identifier: BSD-3-Clause
#include "cq/completion_queue.h"

#include <array>

#include <gtest/gtest.h>

namespace roce {
namespace {

Cqe cqe(uint64_t id, uint32_t qpn = 20) {
  Cqe c;
  c.wr_id = id;
  c.qpn = qpn;
  return c;
}

TEST(CompletionQueue, HoldsExactlyWhatWasAskedFor) {
  CompletionQueue cq(3);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(cq.push(cqe(i)));
  }
  EXPECT_FALSE(cq.overrun());
  EXPECT_FALSE(cq.push(cqe(3)));
  EXPECT_FALSE(cq.overrun()) << "what was pushed before cannot be seen yet";
  cq.publish(Instant{});
  EXPECT_TRUE(cq.overrun());
  std::array<Cqe, 8> out;
  EXPECT_EQ(cq.poll(out), 3u);
  EXPECT_EQ(out[2].wr_id, 2u);
}

TEST(CompletionQueue, NothingIsSeenBeforeItIsPublished) {
  CompletionQueue cq(4);
  std::array<Cqe, 4> out;
  cq.push(cqe(1));
  EXPECT_EQ(cq.poll(out), 0u);
  cq.publish(Instant{});
  EXPECT_EQ(cq.poll(out), 1u);
}

TEST(CompletionQueue, PurgedCompletionsAreNotDelivered) {
  CompletionQueue cq(4);
  cq.push(cqe(1, 20));
  cq.push(cqe(2, 21));
  cq.push(cqe(3, 20));
  cq.publish(Instant{});
  cq.purge(20);
  std::array<Cqe, 4> out;
  ASSERT_EQ(cq.poll(out), 1u);
  EXPECT_EQ(out[0].wr_id, 2u);
}

TEST(CompletionQueue, PurgedOnesHideNoneBehindThem) {
  CompletionQueue cq(8);
  Cqe cqe;
  cqe.qpn = 10;
  ASSERT_TRUE(cq.push(cqe));
  cq.publish(Instant{});
  cq.purge(10);
  cqe.qpn = 11;
  ASSERT_TRUE(cq.push(cqe));
  cq.publish(Instant{});
  std::array<Cqe, 4> out;
  EXPECT_EQ(cq.poll(out), 1u);
}

TEST(CompletionQueue, FewerThanAskedForMeansThatNoneAreLeft) {
  CompletionQueue cq(8);
  const auto add = [&cq](int n) {
    for (int i = 0; i < n; ++i) {
      ASSERT_TRUE(cq.push(Cqe{}));
    }
    cq.publish(Instant{});
  };
  std::array<Cqe, 2> out;
  add(3);
  ASSERT_EQ(cq.poll(out), 2u);  // has seen that there is a third
  add(3);
  EXPECT_EQ(cq.poll(out), 2u);
}

}  // namespace
}  // namespace roce
