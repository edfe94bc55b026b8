// What a queue pair costs in memory: budgets that a change has to notice.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "qp/qp.h"

namespace roce {
namespace {

TEST(Footprint, AnIdleRcQueuePairFitsOneKibibyteBesideItsRings) {
  const size_t rings = sizeof(SendQueue) + sizeof(RecvQueue);
  const size_t replies = sizeof(Reply);  // max_dest_rd_atomic 1
  EXPECT_LE(sizeof(Qp) - rings + replies, 1024u);
}

TEST(Footprint, WhatEachMessageTouchesFitsFourLines) {
  // Window, requester and completer on the way out and back; the core's state and attributes.
  EXPECT_LE(sizeof(SendWindow) + sizeof(Requester) + sizeof(Completer) + sizeof(QpAttributes),
            256u);
  // Responder and receiver on the way in.
  EXPECT_LE(sizeof(Responder) + sizeof(Receiver), 256u);
}

TEST(Footprint, WqesAndCompletionsKeepToTheirLines) {
  EXPECT_EQ(sizeof(SendWqe), 64u);
  EXPECT_EQ(sizeof(RecvWqe), 32u);
  EXPECT_EQ(sizeof(Cqe), 32u);
  EXPECT_EQ(sizeof(MemoryRegion), 64u);
}

}  // namespace
}  // namespace roce
