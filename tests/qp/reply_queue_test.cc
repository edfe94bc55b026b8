// The responder's table of READs and atomics (rules R3, R4, R5, R10).
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/reply_queue.h"

#include <gtest/gtest.h>

namespace roce {
namespace {

Reply* add(ReplyQueue& queue, uint32_t psn, uint32_t count = 1) {
  Reply* const reply = queue.push();
  if (reply != nullptr) {
    reply->first_psn = Psn(psn);
    reply->psn_count = reply->end = count;
  }
  return reply;
}

TEST(ReplyQueue, R10_MoreUnansweredThanNegotiatedIsRefused) {
  ReplyQueue queue;
  queue.reset(2);
  EXPECT_NE(add(queue, 1), nullptr);
  EXPECT_NE(add(queue, 2), nullptr);
  EXPECT_EQ(add(queue, 3), nullptr);
  queue.finish(queue.front());
  EXPECT_NE(add(queue, 3), nullptr);
  EXPECT_EQ(queue.find(Psn(1)), nullptr) << "the oldest answered one made room";
}

TEST(ReplyQueue, R10_NothingIsTakenWhenNothingWasNegotiated) {
  ReplyQueue queue;
  queue.reset(0);
  EXPECT_EQ(queue.push(), nullptr);
}

TEST(ReplyQueue, R3_AnsweredOnesAreFoundByAnyOfTheirPsnsAcrossTheWrap) {
  ReplyQueue queue;
  queue.reset(2);
  add(queue, 0xfffffe, 4);
  queue.finish(queue.front());
  EXPECT_NE(queue.find(Psn(0xfffffe)), nullptr);
  EXPECT_NE(queue.find(Psn(1)), nullptr);
  EXPECT_EQ(queue.find(Psn(2)), nullptr);
}

TEST(ReplyQueue, ReplayGoesBeforeNewerRequests) {
  ReplyQueue queue;
  queue.reset(3);
  Reply* const first = add(queue, 1);
  queue.finish(*first);
  add(queue, 2);
  queue.replay(*first, 0, 1);
  EXPECT_EQ(queue.pending(), 2u);
  EXPECT_EQ(queue.front().first_psn, Psn(1));
}

TEST(ReplyQueue, AReplayOfAnAnsweredRequestGivesWayToANewOne) {
  ReplyQueue queue;
  queue.reset(1);
  Reply* const first = add(queue, 1);
  queue.finish(*first);
  queue.replay(*first, 0, 1);
  EXPECT_NE(add(queue, 2), nullptr);
  EXPECT_EQ(queue.pending(), 1u);
  EXPECT_EQ(queue.front().first_psn, Psn(2));
}

}  // namespace
}  // namespace roce
