// How often the helper of an assisted engine looks. SPDX-License-Identifier: BSD-3-Clause
#include "helper_pace.h"

#include <gtest/gtest.h>

namespace roce::verbs {
namespace {

constexpr Duration kTurn = Duration::from_us(1);

TEST(HelperPace, TheEngineIsTheHelpersWhileNobodyPolls) {
  HelperPace pace;
  EXPECT_EQ(pace.nap(), Duration{});
  pace.note_poll(kTurn);
  EXPECT_GT(pace.nap(), Duration{});
  EXPECT_EQ(pace.nap(), Duration{});
}

TEST(HelperPace, WhoPollsWithoutAPauseIsLookedAtEverMoreRarely) {
  HelperPace pace;
  Duration last = HelperPace::kShortest;
  while (last < HelperPace::kLongest) {
    pace.note_poll(HelperPace::kPause);
    const Duration nap = pace.nap();
    EXPECT_GT(nap, last);
    last = nap;
  }
  pace.note_poll(kTurn);
  EXPECT_EQ(pace.nap(), HelperPace::kLongest);
}

TEST(HelperPace, WhoPausesIsLookedAtMoreOften) {
  HelperPace pace;
  for (int i = 0; i < 10; ++i) {
    pace.note_poll(kTurn);
    pace.nap();
  }
  Duration last = HelperPace::kLongest;
  while (last > HelperPace::kShortest) {
    pace.note_poll(HelperPace::kPause + Duration::from_ns(1));
    pace.note_poll(kTurn);
    const Duration nap = pace.nap();
    EXPECT_LT(nap, last);
    last = nap;
  }
  pace.note_poll(kTurn);
  EXPECT_GT(pace.nap(), last) << "a pause counts once";
}

TEST(HelperPace, WhoHasCeasedToPollIsLookedAtSoonAfterItsNextPoll) {
  HelperPace pace;
  for (int i = 0; i < 10; ++i) {
    pace.note_poll(kTurn);
    pace.nap();
  }
  EXPECT_EQ(pace.nap(), Duration{});
  pace.note_poll(kTurn);
  EXPECT_LE(pace.nap(), HelperPace::kShortest + HelperPace::kShortest);
}

}  // namespace
}  // namespace roce::verbs
