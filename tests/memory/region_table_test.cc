// Keys: who may touch which bytes (rules R11, R14 rest on it).
// SPDX-License-Identifier: BSD-3-Clause
#include "memory/region_table.h"

#include <array>
#include <set>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace roce {
namespace {

RandomSource seeded(uint64_t seed) {
  return [prng = Prng(seed)]() mutable { return prng.next(); };
}

class RegionTableTest : public testing::Test {
 protected:
  uint32_t add(uint64_t va, Access access = Access::remote_write, uint32_t pd = 1) {
    MemoryRegion region;
    region.va = va;
    region.length = bytes_.size();
    region.host = bytes_.data();
    region.pd = pd;
    region.access = access;
    return *table_.add(region);
  }

  std::array<uint8_t, 100> bytes_{};
  RegionTable table_{8, seeded(1)};
};

TEST_F(RegionTableTest, ResolvesExactlyTheRangeOfTheRegion) {
  const uint32_t key = add(0x1000);
  EXPECT_EQ(table_.resolve_local(key, 1, 0x1000, 100, Access::remote_write), bytes_.data());
  EXPECT_EQ(table_.resolve_local(key, 1, 0x1063, 1, Access::none), bytes_.data() + 99);
  EXPECT_EQ(table_.resolve_local(key, 1, 0x1064, 1, Access::none), nullptr);
  EXPECT_EQ(table_.resolve_local(key, 1, 0x0fff, 1, Access::none), nullptr);
  EXPECT_EQ(table_.resolve_local(key, 1, 0x1000, 101, Access::none), nullptr);
}

TEST_F(RegionTableTest, AddressesThatWrapAroundAreRefused) {
  const uint32_t key = add(UINT64_MAX - 49);
  EXPECT_EQ(table_.resolve_local(key, 1, UINT64_MAX - 1, 10, Access::none), bytes_.data() + 48);
  EXPECT_EQ(table_.resolve_local(key, 1, UINT64_MAX - 49, UINT64_MAX, Access::none), nullptr);
  EXPECT_EQ(table_.resolve_local(key, 1, 60, 1, Access::none), nullptr);
}

TEST_F(RegionTableTest, DomainRightAndKeyMustAllFit) {
  const uint32_t key = add(0, Access::remote_read);
  EXPECT_EQ(table_.resolve_local(key, 2, 0, 1, Access::none), nullptr);
  EXPECT_EQ(table_.resolve_local(key, 1, 0, 1, Access::remote_write), nullptr);
  EXPECT_EQ(table_.resolve_local(key ^ 0x80000000, 1, 0, 1, Access::none), nullptr);
  EXPECT_NE(table_.resolve_local(key, 1, 0, 1, Access::remote_read), nullptr);
}

TEST_F(RegionTableTest, ARemovedKeyIsDeadAndItsSlotIsFree) {
  for (int i = 0; i < 8; ++i) {
    add(0);
  }
  MemoryRegion one_more;
  one_more.host = bytes_.data();
  const auto full = table_.add(one_more);
  EXPECT_EQ(full.error().code, ENOMEM);
  EXPECT_NE(full.error().reason.find("memory regions and windows are in use; free some"),
            std::string::npos);
  EXPECT_FALSE(table_.remove(12345));
  EXPECT_EQ(table_.size(), 8u);
}

TEST_F(RegionTableTest, AnUnboundWindowGivesAccessToNothingNotEvenToNoByte) {
  const RemoteUser user{.pd = 1, .qpn = 0};
  MemoryRegion window;
  window.kind = RegionKind::window_1;
  window.pd = user.pd;
  const uint32_t key = *table_.add(window);
  const uint32_t region = add(1000, Access::local_write | Access::remote_write | Access::mw_bind);
  ASSERT_TRUE(table_.bind({key, key + 1, region, 1000, 50, Access::remote_write}, user));
  EXPECT_EQ(table_.resolve_remote(key + 1, user, 1000, 0, Access::remote_write), bytes_.data());
  ASSERT_TRUE(table_.bind({key + 1, key + 2, 0, 0, 0, Access::none}, user));
  EXPECT_EQ(table_.resolve_remote(key + 2, user, 1000, 0, Access::remote_write), nullptr);
}

TEST_F(RegionTableTest, ADeregisteredKeyNeverComesBackAtOnce) {
  std::set<uint32_t> keys;
  for (int i = 0; i < 50'000; ++i) {
    const uint32_t key = add(0);
    EXPECT_NE(key, 0u);
    keys.insert(key);
    ASSERT_TRUE(table_.remove(key));
    ASSERT_EQ(table_.find(key), nullptr);
  }
  // 32 random bits: a handful of repeats among 50,000 at most, where a counter or a small tag has
  // many.
  EXPECT_GT(keys.size(), 49'980u);
}

}  // namespace
}  // namespace roce
