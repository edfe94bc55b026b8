// Nearest-word search.
// SPDX-License-Identifier: BSD-3-Clause
#include "roce/text.h"

#include <vector>

#include <gtest/gtest.h>

namespace roce {
namespace {

TEST(EditDistance, counts_insertions_removals_replacements_and_swaps) {
  EXPECT_EQ(edit_distance("mtu", "mtu"), 0U);
  EXPECT_EQ(edit_distance("", "mtu"), 3U);
  EXPECT_EQ(edit_distance("mt", "mtu"), 1U);
  EXPECT_EQ(edit_distance("mtuu", "mtu"), 1U);
  EXPECT_EQ(edit_distance("mru", "mtu"), 1U);
  EXPECT_EQ(edit_distance("mut", "mtu"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, finds_the_mistyped_word_and_leaves_strangers_alone) {
  const std::vector<std::string> words = {"port.mtu", "port.mac", "eal.cpu"};
  EXPECT_EQ(nearest("port.mut", words), "port.mtu");
  EXPECT_EQ(nearest("eal.cpus", words), "eal.cpu");
  EXPECT_EQ(nearest("something else", words), "");
  EXPECT_EQ(nearest("a", std::vector<std::string>{"b", "xyz"}), "b");
  EXPECT_EQ(nearest("mtu", std::vector<std::string>{}), "");
}

TEST(Nearest, takes_up_to_a_third_of_the_longer_word_for_mistyped) {
  const std::vector<std::string> words = {"port.mtu", "eal.cpu"};
  EXPECT_EQ(nearest("ppppport.mtu", words), "port.mtu") << "4 of 12";
  EXPECT_EQ(nearest("pppppport.mtu", words), "") << "5 of 13";
  EXPECT_EQ(nearest("prt.mu", words), "port.mtu") << "2 of 8";
  EXPECT_EQ(nearest("prx.mu", words), "") << "3 of 8";
  EXPECT_EQ(nearest(std::string(2000, 'p'), words), "");
}

TEST(DidYouMean, is_empty_without_a_near_word) {
  const std::vector<std::string> words = {"rtc", "lcore"};
  EXPECT_EQ(did_you_mean("lcor", words), " (did you mean lcore?)");
  EXPECT_EQ(did_you_mean("interrupt", words), "");
}

}  // namespace
}  // namespace roce
