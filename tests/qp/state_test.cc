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

std::optional<Expectation> expected(QpType type, QpState from, QpState to) {
  const bool rc = type == QpType::rc;
  const bool ud = type == QpType::ud;
  if (to == reset || (to == err && from != reset)) {
    return Expectation{0, 0};
  }
  if (from == reset && to == init) {
    return Expectation{ud ? bits({4, 5, 6}) : bits({3, 4, 5}), 0};
  }
  if (from == init && to == init) {
    return Expectation{0, ud ? bits({4, 5, 6}) : bits({3, 4, 5})};
  }
  if (from == init && to == rtr) {
    if (ud) {
      return Expectation{0, bits({4, 6})};
    }
    return Expectation{rc ? bits({7, 8, 20, 12, 17, 15}) : bits({7, 8, 20, 12}), bits({14, 3, 4})};
  }
  const uint32_t running = ud ? bits({1, 6}) : rc ? bits({1, 3, 14, 15, 18}) : bits({1, 3, 14, 18});
  if (from == rtr && to == rts) {
    return Expectation{rc ? bits({9, 10, 11, 16, 13}) : bits({16}), running};
  }
  if (to == rts && (from == rts || from == sqd)) {
    return Expectation{0, running};
  }
  if (from == rts && to == sqd) {
    return Expectation{0, bits({2})};
  }
  if (from == sqd && to == sqd) {
    if (ud) {
      return Expectation{0, bits({4, 6})};
    }
    const uint32_t uc = bits({5, 7, 14, 3, 4, 18});
    return Expectation{0, rc ? uc | bits({9, 10, 11, 13, 17, 15}) : uc};
  }
  if (from == sqe && to == rts && !rc) {
    return Expectation{0, ud ? bits({1, 6}) : bits({1, 3})};
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
