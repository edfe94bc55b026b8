// The list of QPs to serve: order, each once, removal, growth.
// SPDX-License-Identifier: BSD-3-Clause
#include "engine/active_list.h"

#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "cq/completion_queue.h"

namespace roce {
namespace {

class ActiveListTest : public ::testing::Test {
 protected:
  ActiveListTest() {
    for (uint32_t qpn = 0; qpn < 8; ++qpn) {
      QpSpec spec;
      spec.send_cq = spec.recv_cq = &cq_;
      qps_.emplace_back(qpn, spec);
    }
    list_.reserve(qps_.size());
  }

  Qp& qp(uint32_t i) { return qps_[i]; }
  void add(std::initializer_list<uint32_t> which) {
    for (const uint32_t i : which) {
      list_.add(qp(i), kAnyWork);
    }
  }
  std::vector<uint32_t> drain() {
    std::vector<uint32_t> order;
    while (!list_.empty()) {
      order.push_back(list_.pop().qpn());
    }
    return order;
  }

  using Order = std::vector<uint32_t>;
  CompletionQueue cq_{16};
  std::deque<Qp> qps_;
  ActiveList list_;
};

TEST_F(ActiveListTest, FirstComeFirstServedAndEachOnce) {
  add({3, 1, 3, 2, 1});
  EXPECT_EQ(drain(), (Order{3, 1, 2}));
}

TEST_F(ActiveListTest, CanBeAddedAgainOnceServed) {
  add({1, 2});
  EXPECT_EQ(list_.pop().qpn(), 1u);
  add({1});
  EXPECT_EQ(drain(), (Order{2, 1}));
}

TEST_F(ActiveListTest, ShowsWhoComesNext) {
  add({4, 5});
  EXPECT_EQ(list_.peek(0)->qp, &qp(4));
  EXPECT_EQ(list_.peek(1)->qp, &qp(5));
  EXPECT_EQ(list_.peek(2), nullptr);
}

TEST_F(ActiveListTest, RemembersAllThatAQueuePairWasAddedFor) {
  list_.add(qp(4), kReceiveWork);
  EXPECT_EQ(list_.peek(0)->work, kReceiveWork);
  EXPECT_EQ(qp(4).schedule.work, kReceiveWork);
  list_.add(qp(4), kSendWork);
  EXPECT_EQ(list_.pop().schedule.work, kAnyWork) << "until it has been served";
}

TEST_F(ActiveListTest, RemovesFromAnywhere) {
  add({0, 1, 2, 3});
  list_.remove(qp(3));
  list_.remove(qp(0));
  EXPECT_EQ(drain(), (Order{2, 1})) << "the last has taken the place of the first";
  EXPECT_FALSE(qp(0).schedule.active);
  EXPECT_FALSE(qp(3).schedule.active);
}

TEST_F(ActiveListTest, RemovingWhoIsNotInItChangesNothing) {
  add({0, 1});
  list_.remove(qp(5));
  ActiveList other;
  other.reserve(4);
  other.add(qp(6), kAnyWork);
  list_.remove(qp(6));
  EXPECT_TRUE(qp(6).schedule.active) << "it is in the other list";
  EXPECT_EQ(drain(), (Order{0, 1}));
}

TEST_F(ActiveListTest, RemovedCanBeAddedAgain) {
  add({0, 1, 2});
  list_.remove(qp(1));
  add({1});
  EXPECT_EQ(drain(), (Order{0, 2, 1}));
}

TEST_F(ActiveListTest, HoldsAsManyAsItHasRoomForAfterAnyNumberOfTurns) {
  for (int turn = 0; turn < 5; ++turn) {
    add({0, 1, 2, 3, 4, 5, 6, 7});
    EXPECT_EQ(list_.pop().qpn(), 0u);
    add({0});
    EXPECT_EQ(drain(), (Order{1, 2, 3, 4, 5, 6, 7, 0})) << "turn " << turn;
  }
}

TEST_F(ActiveListTest, GrowsWithoutLosingOrder) {
  ActiveList small;
  small.reserve(2);
  small.add(qp(0), kAnyWork);
  small.pop();
  small.add(qp(1), kAnyWork);
  small.add(qp(2), kAnyWork);
  small.reserve(3);
  small.add(qp(3), kAnyWork);
  small.remove(qp(1));
  EXPECT_EQ(small.pop().qpn(), 3u) << "the last has taken the place of the first";
  EXPECT_EQ(small.pop().qpn(), 2u);
  EXPECT_TRUE(small.empty());
}

}  // namespace
}  // namespace roce
