// The state machine: every pair of states, for each type, with the right mask, each required bit
// missing and each other bit extra (spec 2).
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/state.h"

#include <array>
#include <map>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

namespace roce {
namespace {

using enum QpState;

struct Expectation {
  uint32_t required;
  uint32_t optional;
};

// Written from spec 2 by hand, apart from the table under test.
constexpr uint32_t bits(std::initializer_list<int> list) {
  uint32_t mask = 0;
  for (const int b : list) {
    mask |= 1u << b;
  }
  return mask;
}

constexpr uint32_t kRunningRc = bits({1, 3, 14, 15, 18});
constexpr uint32_t kRunningUc = bits({1, 3, 14, 18});
constexpr uint32_t kRunningUd = bits({1, 6});
constexpr uint32_t kRtrUc = bits({7, 8, 20, 12});
constexpr uint32_t kDrainedUc = bits({5, 7, 14, 3, 4, 18});

/// Nothing where a type has no such move.
struct Row {
  QpState from = reset;
  QpState to = reset;
  std::optional<Expectation> rc;
  std::optional<Expectation> uc;
  std::optional<Expectation> ud;
};

using E = Expectation;
constexpr Row kRows[] = {
    {reset, init, E{bits({3, 4, 5}), 0}, E{bits({3, 4, 5}), 0}, E{bits({4, 5, 6}), 0}},
    {init, init, E{0, bits({3, 4, 5})}, E{0, bits({3, 4, 5})}, E{0, bits({4, 5, 6})}},
    {init, rtr, E{kRtrUc | bits({17, 15}), bits({14, 3, 4})}, E{kRtrUc, bits({14, 3, 4})},
     E{0, bits({4, 6})}},
    {rtr, rts, E{bits({9, 10, 11, 16, 13}), kRunningRc}, E{bits({16}), kRunningUc},
     E{bits({16}), kRunningUd}},
    {rts, rts, E{0, kRunningRc}, E{0, kRunningUc}, E{0, kRunningUd}},
    {rts, sqd, E{0, bits({2})}, E{0, bits({2})}, E{0, bits({2})}},
    {sqd, sqd, E{0, kDrainedUc | bits({9, 10, 11, 13, 17, 15})}, E{0, kDrainedUc},
     E{0, bits({4, 6})}},
    {sqd, rts, E{0, kRunningRc}, E{0, kRunningUc}, E{0, kRunningUd}},
    {sqe, rts, std::nullopt, E{0, bits({1, 3})}, E{0, bits({1, 6})}},
};

std::optional<Expectation> expected(QpType type, QpState from, QpState to) {
  if (to == reset || (to == err && from != reset)) {
    return Expectation{0, 0};
  }
  for (const Row& row : kRows) {
    if (row.from == from && row.to == to) {
      return type == QpType::rc ? row.rc : type == QpType::uc ? row.uc : row.ud;
    }
  }
  return std::nullopt;
}

class StateTable : public testing::TestWithParam<QpType> {};

TEST_P(StateTable, EveryTransitionWithEveryMask) {
  const QpType type = GetParam();
  for (const QpState from : {reset, init, rtr, rts, sqd, sqe, err}) {
    for (const QpState to : {reset, init, rtr, rts, sqd, sqe, err}) {
      SCOPED_TRACE(std::string(name_of(type)) + " " + name_of(from) + " -> " + name_of(to));
      const auto want = expected(type, from, to);
      const auto ok = [&](uint32_t mask) {
        return check_transition(type, from, to, mask | kAttrState).has_value();
      };
      if (!want) {
        EXPECT_FALSE(ok(0));
        continue;
      }
      EXPECT_TRUE(ok(want->required));
      EXPECT_TRUE(ok(want->required | want->optional));
      for (int bit = 1; bit < 32; ++bit) {
        const uint32_t b = 1u << bit;
        if ((want->required & b) != 0) {
          EXPECT_FALSE(ok(want->required & ~b)) << "without bit " << bit;
        } else {
          EXPECT_EQ(ok(want->required | b), (want->optional & b) != 0) << "with bit " << bit;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, StateTable, testing::Values(QpType::rc, QpType::uc, QpType::ud),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST(StateTable, TheReasonNamesTransitionAndAttribute) {
  const Status s = check_transition(QpType::rc, init, rtr, kAttrState | kAttrAv | kAttrTimeout);
  ASSERT_FALSE(s.has_value());
  EXPECT_EQ(s.error().code, EINVAL);
  EXPECT_NE(s.error().reason.find("INIT -> RTR"), std::string::npos);
  EXPECT_NE(s.error().reason.find("PATH_MTU"), std::string::npos) << s.error().reason;
  const Status extra = check_transition(QpType::rc, rts, rts, kAttrState | kAttrTimeout);
  ASSERT_FALSE(extra.has_value());
  EXPECT_NE(extra.error().reason.find("TIMEOUT"), std::string::npos);
}

}  // namespace
}  // namespace roce
