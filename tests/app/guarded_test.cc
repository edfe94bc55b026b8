// The outermost frame of a program.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/guarded.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace uroce::app {
namespace {

TEST(Guarded, returns_what_the_program_does) {
  EXPECT_EQ(guarded("uroce-x", [] { return 7; }), 7);
}

TEST(Guarded, an_exception_is_told_and_ends_in_1) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(guarded("uroce-x", []() -> int { throw std::runtime_error("no memory left"); }), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "uroce-x: no memory left\n");
}

}  // namespace
}  // namespace uroce::app
