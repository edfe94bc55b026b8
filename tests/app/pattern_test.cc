// Validation must find what is wrong: any byte, anywhere, of any message.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/pattern.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace uroce::app {
namespace {

std::vector<uint8_t> filled(const Pattern& pattern, size_t size, uint64_t message) {
  std::vector<uint8_t> bytes(size);
  pattern.fill(bytes, message);
  return bytes;
}

TEST(Pattern, AcceptsWhatItFilled) {
  const Pattern pattern(7);
  for (const size_t size : {1U, 7U, 8U, 63U, 64U, 65U, 128U, 4096U, 100'001U}) {
    for (const uint64_t message : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
      EXPECT_FALSE(pattern.check(filled(pattern, size, message), message)) << size;
    }
  }
}

TEST(Pattern, FindsEveryWrongByte) {
  const Pattern pattern(0);
  for (size_t at = 0; at < 200; ++at) {
    std::vector<uint8_t> bytes = filled(pattern, 200, 5);
    bytes[at] ^= 0x10U;
    const auto wrong = pattern.check(bytes, 5);
    ASSERT_TRUE(wrong) << at;
    EXPECT_EQ(wrong->message, 5U);
    EXPECT_EQ(wrong->offset, at);
    EXPECT_EQ(wrong->found, bytes[at]);
    EXPECT_EQ(wrong->expected, bytes[at] ^ 0x10U);
  }
}

TEST(Pattern, TellsTheFirstOfSeveral) {
  const Pattern pattern(0);
  std::vector<uint8_t> bytes = filled(pattern, 1000, 0);
  for (const size_t at : {999U, 301U, 302U, 640U}) {
    bytes[at] = static_cast<uint8_t>(~bytes[at]);
  }
  EXPECT_EQ(pattern.check(bytes, 0)->offset, 301U);
}

TEST(Pattern, TellsMessagesApart) {
  const Pattern pattern(0);
  for (uint64_t message = 1; message < 1000; ++message) {
    EXPECT_TRUE(pattern.check(filled(pattern, 8, message), message - 1)) << message;
  }
}

TEST(Pattern, TellsPlacesApart) {
  const Pattern pattern(0);
  std::vector<uint8_t> bytes = filled(pattern, 8192, 3);
  const std::span<const uint8_t> all(bytes);
  for (size_t shift = 1; shift <= 4096; shift += shift < 70 ? 1 : 64) {
    EXPECT_TRUE(pattern.check(all.subspan(shift, 4096), 3)) << shift;
  }
}

TEST(Pattern, TellsSeedsApart) {
  EXPECT_TRUE(Pattern(2).check(filled(Pattern(1), 64, 0), 0));
}

TEST(Pattern, FindsMemoryThatWasNeverWritten) {
  EXPECT_TRUE(Pattern(0).check(std::vector<uint8_t>(64), 0));
}

TEST(Pattern, SaysWhatIsWrong) {
  EXPECT_EQ(text_of(WrongByte{3, 17, 0x5a, 0x00}),
            "byte 17 of message 3 is 0x00 and should be "
            "0x5a");
}

}  // namespace
}  // namespace uroce::app
