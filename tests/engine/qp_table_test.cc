// QpTable: which numbers it gives out, with random draws that the test chooses.
// SPDX-License-Identifier: BSD-3-Clause
#include "engine/qp_table.h"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "cq/completion_queue.h"

namespace roce {
namespace {

constexpr uint32_t kMaxQps = 16;

class QpTables : public testing::Test {
 protected:
  QpTables() { spec_.send_cq = spec_.recv_cq = &cq_; }

  /// The number of a queue pair created while the random source says `draws`, one after the other.
  uint32_t number(std::vector<uint64_t> draws, Instant now = {}) {
    draws_ = std::move(draws);
    next_ = 0;
    return (*table_.create(spec_, now))->qpn();
  }
  void destroy(uint32_t qpn, Instant now = {}) { table_.destroy(*table_.find(qpn), now); }

  CompletionQueue cq_{4};
  QpSpec spec_;
  std::vector<uint64_t> draws_;
  size_t next_ = 0;
  QpTable table_{kMaxQps, {}, [this] { return draws_[next_++ % draws_.size()]; }};
};

TEST_F(QpTables, SpecialNumbersAreNotGivenOut) {
  EXPECT_EQ(number({0, 1, 15, kMulticastQpn, 16}), 16u);
}

TEST_F(QpTables, ANumberHas24Bits) {
  EXPECT_EQ(number({0xffff'ffff'ff12'3456}), 0x123456u);
}

TEST_F(QpTables, TwoQueuePairsShareNoSlot) {
  EXPECT_EQ(number({0x100020}), 0x100020u);
  EXPECT_EQ(number({0x200020, 0x200021}), 0x200021u);
  EXPECT_EQ(table_.find(0x200020), nullptr);
}

TEST_F(QpTables, TheSlotOfADestroyedOneRestsForASecond) {
  EXPECT_EQ(number({100}), 100u);
  destroy(100);
  EXPECT_EQ(table_.find(100), nullptr);
  const Instant second{1'000'000'000};
  EXPECT_EQ(number({100, 0x100000 + 100, 101}, Instant{999'999'999}), 101u);
  EXPECT_EQ(number({100}, second), 100u);
}

TEST_F(QpTables, RestingSlotsNeverFillTheTable) {
  for (uint64_t i = 0; i < 1000; ++i) {
    std::vector<uint64_t> draws(256);
    for (size_t k = 0; k < draws.size(); ++k) {
      draws[k] = 16 + i + k;
    }
    destroy(number(draws));
  }
}

TEST_F(QpTables, EachEngineHasNumbersOfItsOwn) {
  for (uint32_t count = 1; count <= kMaxEngines; ++count) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const EnginePlace place{i, count};
      EXPECT_EQ(place.first(), next);
      next += place.size();
      EXPECT_TRUE(place.owns(place.first()));
      EXPECT_TRUE(place.owns(next - 1));
      EXPECT_FALSE(place.owns(i == 0 ? next : place.first() - 1) && count > 1);
      std::vector<uint64_t> draws{0, 0xffffff, 0x800000, 0x123456};
      size_t drawn = 0;
      QpTable table(kMaxQps, place, [&] { return draws[drawn++ % draws.size()]; });
      for (int k = 0; k < 2; ++k) {
        EXPECT_TRUE(place.owns((*table.create(spec_, {}))->qpn()));
      }
    }
    EXPECT_EQ(next, 1u << kQpnBits);
  }
}

TEST_F(QpTables, OneTooManyIsRefused) {
  for (uint64_t i = 0; i < kMaxQps; ++i) {
    number({16 + i});
  }
  const Result<Qp*> refused = table_.create(spec_, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ENOMEM);
  EXPECT_EQ(table_.size(), kMaxQps);
}

}  // namespace
}  // namespace roce
