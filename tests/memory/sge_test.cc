// Walking scatter/gather lists.
// SPDX-License-Identifier: BSD-3-Clause
#include "memory/sge.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace roce {
namespace {

class SgeTest : public testing::Test {
 protected:
  SgeTest() {
    MemoryRegion region;
    region.va = reinterpret_cast<uint64_t>(text_.data());
    region.length = text_.size();
    region.host = reinterpret_cast<uint8_t*>(text_.data());
    region.pd = 1;
    key_ = *table_.add(region);
  }

  Sge at(uint32_t offset, uint32_t length) const {
    return {reinterpret_cast<uint64_t>(text_.data()) + offset, length, key_};
  }

  std::string take(std::span<const Sge> list, SgePosition& position, uint32_t len) {
    std::string out;
    fault_ = walk(
        {table_, 1}, list, position, len, Access::none,
        [&](const uint8_t* p, uint32_t n) { out.append(reinterpret_cast<const char*>(p), n); });
    return out;
  }

  std::string text_ = "abcdefghijklmnopqrstuvwxyz";
  RegionTable table_{8, [prng = Prng(1)]() mutable { return prng.next(); }};
  uint32_t key_ = 0;
  MemoryFault fault_ = MemoryFault::none;
};

TEST_F(SgeTest, PiecesComeInOrderAndThePositionMovesOn) {
  const std::array<Sge, 4> list = {at(0, 3), at(20, 0), at(10, 2), at(5, 4)};
  SgePosition position;
  EXPECT_EQ(take(list, position, 4), "abck");
  EXPECT_EQ(take(list, position, 5), "lfghi");
  EXPECT_EQ(fault_, MemoryFault::none);
  EXPECT_EQ(take(list, position, 1), "");
  EXPECT_EQ(fault_, MemoryFault::length);
}

TEST_F(SgeTest, AdvanceAgreesWithWalkAtEveryOffset) {
  const std::array<Sge, 4> list = {at(0, 3), at(20, 0), at(10, 2), at(5, 4)};
  for (uint32_t offset = 0; offset < 9; ++offset) {
    SgePosition walked;
    take(list, walked, offset);
    SgePosition moved;
    advance(list, moved, offset);
    EXPECT_EQ(take(list, walked, 9 - offset), take(list, moved, 9 - offset)) << offset;
  }
}

TEST_F(SgeTest, ABadKeyOrRangeIsAProtectionFault) {
  std::array<Sge, 2> list = {at(0, 3), at(24, 3)};
  SgePosition position;
  EXPECT_EQ(take(list, position, 6), "abc");
  EXPECT_EQ(fault_, MemoryFault::protection);
  list[0].lkey ^= 1;
  position = {};
  take(list, position, 1);
  EXPECT_EQ(fault_, MemoryFault::protection);
}

TEST_F(SgeTest, NothingAtAllNeedsNoRight) {
  const std::array<Sge, 1> list = {Sge{1, 0, 99}};
  SgePosition position;
  EXPECT_EQ(take(list, position, 0), "");
  EXPECT_EQ(fault_, MemoryFault::none);
}

}  // namespace
}  // namespace roce
