// Tests of parse_faults().
// SPDX-License-Identifier: BSD-3-Clause
#include "port/fault_config.h"

#include <string>

#include <gtest/gtest.h>

namespace roce::test {
namespace {

TEST(ParseFaults, ReadsEveryKey) {
  const auto r = parse_faults(
      "loss=1%,burst=3,dup=0.5%,reorder=0.25,corrupt=100%,delay=5us-1.5ms,delay_share=10%,seed=42");
  ASSERT_TRUE(r.has_value()) << r.error().reason;
  EXPECT_DOUBLE_EQ(r->loss, 0.01);
  EXPECT_EQ(r->loss_burst, 3U);
  EXPECT_DOUBLE_EQ(r->duplicate, 0.005);
  EXPECT_DOUBLE_EQ(r->reorder, 0.25);
  EXPECT_DOUBLE_EQ(r->corrupt, 1);
  EXPECT_DOUBLE_EQ(r->delay, 0.1);
  EXPECT_EQ(r->delay_min, Duration::from_us(5));
  EXPECT_EQ(r->delay_max, Duration::from_us(1500));
  EXPECT_EQ(r->seed, 42U);
}

TEST(ParseFaults, TakesTheEmptyTextForNoFaults) {
  const auto r = parse_faults("");
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->loss, 0);
  EXPECT_EQ(r->delay, 0);
  EXPECT_EQ(r->loss_burst, 1U);
}

TEST(ParseFaults, DelaysEveryFrameUnlessAShareIsGiven) {
  const auto all = parse_faults("delay=20us");
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->delay, 1);
  EXPECT_EQ(all->delay_min, Duration::from_us(20));
  EXPECT_EQ(all->delay_max, Duration::from_us(20));
  const auto none = parse_faults("delay_share=0,delay=20us");
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(none->delay, 0);
}

TEST(ParseFaults, TakesTheLimitsThemselves) {
  EXPECT_TRUE(parse_faults("loss=0,dup=1,corrupt=0%,reorder=100%").has_value());
  EXPECT_TRUE(parse_faults("delay=0ns-10000ms,seed=18446744073709551615").has_value());
  EXPECT_TRUE(parse_faults("burst=1000000").has_value());
}

struct Refused {
  const char* text;
  const char* key;  ///< both to be named by the reason
  const char* allowed;
};

class ParseFaultsRefusal : public testing::TestWithParam<Refused> {};

TEST_P(ParseFaultsRefusal, NamesKeyValueAndWhatIsAllowed) {
  const auto [text, key, allowed] = GetParam();
  const auto r = parse_faults(text);
  ASSERT_FALSE(r.has_value()) << text;
  EXPECT_EQ(r.error().code, EINVAL);
  EXPECT_NE(r.error().reason.find("'" + std::string(key) + "'"), std::string::npos)
      << r.error().reason;
  EXPECT_NE(r.error().reason.find(allowed), std::string::npos) << r.error().reason;
  const std::string_view pair =
      std::string_view(text).substr(std::string_view(text).rfind(',') + 1);
  const size_t equals = pair.find('=');
  if (equals != std::string_view::npos &&
      std::string_view(allowed).find("use one") == std::string_view::npos &&
      std::string_view(allowed).find("' is given") != 0) {
    EXPECT_NE(r.error().reason.find(pair.substr(equals + 1)), std::string::npos)
        << r.error().reason;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ParseFaultsRefusal,
    testing::Values(
        Refused{"loss=101%", "loss", "fault 'loss' is '101%'; allowed: "},
        Refused{"loss=1.1", "loss", "0 to 1"}, Refused{"loss=-1%", "loss", "0% to 100%"},
        Refused{"loss=nan", "loss", "0 to 1"}, Refused{"loss=1e-3", "loss", "0 to 1"},
        Refused{"loss=", "loss", "0 to 1"}, Refused{"loss", "loss", "0 to 1"},
        Refused{"loss=%", "loss", "0% to 100%"}, Refused{"loss= 1%", "loss", "0% to 100%"},
        Refused{"dup=x", "dup", "0 to 1"}, Refused{"seed=1,dup=2", "dup", "0 to 1"},
        Refused{"reorder=5%%", "reorder", "0 to 1"}, Refused{"corrupt=0.5.5", "corrupt", "0 to 1"},
        Refused{"burst=0", "burst", "1 to 1000000"},
        Refused{"burst=1000001", "burst", "1 to 1000000"}, Refused{"delay=20", "delay", "10000ms"},
        Refused{"delay=20s", "delay", "10000ms"}, Refused{"delay=-1us", "delay", "10000ms"},
        Refused{"delay=20us-5us", "delay", "5us-20us"},
        Refused{"delay=10001ms", "delay", "10000ms"},
        Refused{"delay_share=2", "delay_share", "0 to 1"},
        Refused{"seed=18446744073709551616", "seed", "18446744073709551615"},
        Refused{"seed=0x10", "seed", "18446744073709551615"},
        Refused{"drop=1%", "drop", "' is unknown; use one of loss, burst, dup"},
        Refused{"Loss=1%", "Loss", "use one of"}, Refused{"=1", "", "use one of"},
        Refused{"loss=1%,,dup=1%", "", "use one of"},
        Refused{"loss=1%,loss=2%", "loss", "' is given twice; give it once"}));

TEST(ParseFaults, RefusesACommaAtTheEnd) {
  const auto r = parse_faults("loss=1%,");
  ASSERT_FALSE(r.has_value());
  EXPECT_NE(r.error().reason.find("the list of faults ends with a comma; take it away"),
            std::string::npos);
}

}  // namespace
}  // namespace roce::test
