// add_counts: every member of the counters that there are.
// SPDX-License-Identifier: BSD-3-Clause
#include "base/add_counts.h"

#include <numeric>

#include <gtest/gtest.h>

#include "engine/counters.h"
#include "port/port.h"
#include "qp/core.h"

namespace roce {
namespace {

template <class T>
class AddCounts : public testing::Test {};
using Kinds = testing::Types<EngineCounters, QpCounters, PortStats>;
TYPED_TEST_SUITE(AddCounts, Kinds);

TYPED_TEST(AddCounts, AddsEachToItsOwn) {
  using Counts = std::array<uint64_t, sizeof(TypeParam) / sizeof(uint64_t)>;
  Counts tens{};
  Counts ones{};
  std::iota(ones.begin(), ones.end(), uint64_t{1});
  for (size_t i = 0; i < tens.size(); ++i) {
    tens[i] = 1000 * (i + 1);
  }
  auto sum = std::bit_cast<TypeParam>(tens);
  add_counts(sum, std::bit_cast<TypeParam>(ones));
  const auto counts = std::bit_cast<Counts>(sum);
  for (size_t i = 0; i < counts.size(); ++i) {
    EXPECT_EQ(counts[i], 1001 * (i + 1));
  }
}

}  // namespace
}  // namespace roce
