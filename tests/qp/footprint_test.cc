// What a queue pair costs in memory: budgets that a change has to notice.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "qp/qp.h"

namespace roce {
namespace {

TEST(Footprint, AnIdleRcQueuePairFitsOneKibibyteBesideItsRings) {
  const size_t rings = sizeof(SendQueue) + sizeof(RecvQueue);
  const size_t replies = sizeof(Reply);  // max_dest_rd_atomic 1
  EXPECT_LE(sizeof(Qp) - rings + replies, 1024u);
}

constexpr size_t kLine = 64;

size_t line_of(const Qp& qp, const void* part) {
  return static_cast<size_t>(static_cast<const std::byte*>(part) -
                             reinterpret_cast<const std::byte*>(&qp)) /
         kLine;
}

// What a message touches lies together (qp.h): beside those of what is posted six on the way out
// and back, six on the way in, of which three are the same.
TEST(Footprint, WhatEachMessageTouchesLiesInFewLines) {
  CompletionQueue cq(4);
  Qp qp(17, {.send_cq = &cq, .recv_cq = &cq});
  const QpCore& core = qp.core();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(&qp) % kLine, 0u);
  EXPECT_EQ(line_of(qp, &qp.schedule), 0u);
  EXPECT_EQ(line_of(qp, &core.rate), 0u) << "state and attributes";
  EXPECT_EQ(line_of(qp, &core.path), 1u);
  EXPECT_EQ(line_of(qp, &core.paced), 2u) << "the rest of the path, completion queues, flags";
  EXPECT_EQ(line_of(qp, &core.counters.acks_sent), 3u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(&qp.send_window()) % kLine, 0u);
  EXPECT_LE(sizeof(SendWindow), 2 * kLine);
  EXPECT_LE(sizeof(Requester) + sizeof(Completer), kLine);
  EXPECT_LE(sizeof(Responder), 2 * kLine);
  EXPECT_LE(sizeof(Receiver), kLine);
  EXPECT_NE(line_of(qp, &qp.bell), line_of(qp, &core.counters.acks_sent))
      << "other threads write to the bell";
}

TEST(Footprint, WqesAndCompletionsKeepToTheirLines) {
  EXPECT_EQ(sizeof(SendWqe), 64u);
  EXPECT_EQ(sizeof(RecvWqe), 32u);
  EXPECT_EQ(sizeof(Cqe), 32u);
  EXPECT_EQ(sizeof(MemoryRegion), 64u);
}

}  // namespace
}  // namespace roce
