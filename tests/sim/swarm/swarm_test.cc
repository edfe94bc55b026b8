// The simulator in the suite: schedules from seeds, those that once failed, queue pairs destroyed
// at every point of a schedule, the count table; and that the model is able to object.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "sim/swarm/batch.h"
#include "sim/swarm/counts.h"
#include "sim/swarm/model.h"
#include "sim/swarm/shrink.h"

namespace roce::swarm {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSlow = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSlow = true;
#else
constexpr bool kSlow = false;
#endif
#else
constexpr bool kSlow = false;
#endif

/// Its end at host 1 is the case in tests/script/schedule_cases.cc.
constexpr uint64_t kScriptedSeed = 14;

std::string report(const BatchResult& result) {
  std::string out;
  for (const auto& [seed, what] : result.violations) {
    out += "seed " + std::to_string(seed) + ": " + what +
           "\n  repeat with: build/bin/uroce-sim --seed " + std::to_string(seed) + " --verbose\n";
  }
  return out;
}

TEST(Swarm, SchedulesKeepWhatTheModelPromises) {
  BatchOptions options;
  options.schedules = kSlow ? 2'000 : 20'000;
  options.jobs = 2;
  const BatchResult result = run_batch(options, {});
  EXPECT_EQ(report(result), "");
  EXPECT_EQ(result.schedules, options.schedules);
}

TEST(Swarm, TheSameSeedGivesTheSameSchedule) {
  Case c;
  c.seed = 42;
  std::string first;
  std::string second;
  for (std::string* out : {&first, &second}) {
    run_case(c, {.tell = [out](Instant at, const std::string& what) {
               *out += std::to_string(at.ns) + " " + what + "\n";
             }});
  }
  EXPECT_EQ(first, second);
  EXPECT_NE(first, "");
}

/// What is rare happens at all: groups have receivers, completion queues overrun.
TEST(Swarm, OverrunsAndCopiesForGroupsAreAmongTheSchedules) {
  uint64_t copies = 0;
  uint64_t overruns = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Case c;
    c.seed = seed;
    const Options options = options_of(c);
    if (options.groups > 0 || options.small_queues) {
      Totals totals;
      EXPECT_EQ(run_case(c, {}, &totals), "") << "seed " << seed;
      copies += totals.copies;
      overruns += totals.overruns;
    }
  }
  EXPECT_GE(copies, 100u);
  EXPECT_GE(overruns, 20u);
}

/// Each found a defect, which docs/testing.md tells about.
TEST(Swarm, SchedulesThatOnceFailed) {
  for (const uint64_t seed :
       {236u, 3965u, 3966u, 4325u, 17325u, 18351u, 96984u, 113983u, 425053u}) {
    Case c;
    c.seed = seed;
    EXPECT_EQ(run_apart(c), "") << "seed " << seed;
  }
}

/// An event of the kind at each place of some schedules.
std::string sweep(Kind kind, uint64_t seeds) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    Case c;
    c.seed = seed;
    const size_t places = plan_of(c).size() + 1;
    for (size_t i = 0; i < places; ++i) {
      c.inserted.emplace(kind, i);
      const std::string what = run_case(c);
      if (!what.empty()) {
        return arguments_of(c) + ": " + what;
      }
    }
  }
  return {};
}

TEST(Swarm, QueuePairsMayBeDestroyedAtEveryPoint) {
  EXPECT_EQ(sweep(Kind::destroy, kSlow ? 3 : 15), "");
}

TEST(Swarm, MemoryMayBeDeregisteredAtEveryPoint) {
  EXPECT_EQ(sweep(Kind::deregister, kSlow ? 3 : 15), "");
}

TEST(Swarm, AProcessMayDieAtEveryPoint) {
  EXPECT_EQ(sweep(Kind::restart, kSlow ? 2 : 10), "");
}

/// A change of the protocol's conduct changes the table in the same commit:
/// build/bin/uroce-sim --counts > tests/sim/counts.txt
TEST(Swarm, ConductUnderLossIsThatOfTheCountTable) {
  std::ifstream file(UROCE_COUNTS);
  std::stringstream table;
  table << file.rdbuf();
  EXPECT_EQ(count_table(), table.str());
}

/// The text without what a formatter may change.
std::string without_blanks(const std::string& text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out),
               [](unsigned char c) { return std::isspace(c) == 0; });
  return out;
}

/// The head of a generated case names the command that makes it anew.
TEST(Script, CheckedInCaseIsWhatTheScheduleGives) {
  std::ifstream file(UROCE_SCHEDULE_CASES);
  std::stringstream checked_in;
  checked_in << file.rdbuf();
  Case c;
  c.seed = kScriptedSeed;
  c.simple = true;
  const ScriptCase script = script_case(c, 1, "E1 Q3 A1", repeated_by(c, 1, "E1 Q3 A1"));
  EXPECT_EQ(script.refusal, "");
  EXPECT_EQ(without_blanks(checked_in.str()), without_blanks(script.text)) << script.text;
}

TEST(Script, WhatACaseCannotSayIsRefusedInWords) {
  Case c;
  c.seed = kScriptedSeed;
  EXPECT_NE(script_case(c, 0, "E1", "").refusal.find("--simple"), std::string::npos);
  c.simple = true;
  c.inserted.emplace(Kind::port_full, 1);
  const std::string busy = script_case(c, 0, "E1", "").refusal;
  const std::string other = script_case(c, 1, "E1", "").refusal;
  EXPECT_NE((busy + other).find("port"), std::string::npos);
}

TEST(Shrink, LeavesTheEventsThatMatter) {
  Case c;
  c.seed = 5;
  // What fails: a plan that has both its third and its seventh event.
  const auto trial = [](const Case& tried) -> std::string {
    bool third = !tried.kept;
    bool seventh = !tried.kept;
    for (const size_t i : tried.kept.value_or(std::vector<size_t>{})) {
      third = third || i == 2;
      seventh = seventh || i == 6;
    }
    return third && seventh ? "violation 12" : "";
  };
  const Case least = shrink(c, trial);
  ASSERT_TRUE(least.kept);
  EXPECT_EQ(*least.kept, (std::vector<size_t>{2, 6}));
}

TEST(Model, SettlesOnlyWhatAnEffectExplains) {
  Memory memory(4096, 1);
  memory.make_ready(4096);
  Effect effect{100, Bytes(8, 0)};
  for (size_t i = 0; i < 8; ++i) {
    effect.data[i] = static_cast<uint8_t>(~memory.expected(100 + i));
  }
  std::copy(effect.data.begin(), effect.data.end(), memory.actual() + 100);
  EXPECT_NE(memory.compare({}), "");
  EXPECT_EQ(memory.compare({{100, 8}}), "");
  EXPECT_NE(memory.settle({0, 200}, {}), "");
  EXPECT_EQ(memory.settle({0, 200}, {effect}), "");
  EXPECT_EQ(memory.compare({}), "");
}

TEST(Model, AtomicsExecutedTwiceOrNotAtAllAreFound) {
  WordLog log;
  log.done({false, 5, 0, 10});
  log.done({false, 7, 0, 15});
  EXPECT_TRUE(log.explains(10, 22));
  EXPECT_FALSE(log.explains(10, 29)) << "the second one was executed twice";
  EXPECT_FALSE(log.explains(10, 15)) << "the second one was not executed";
  log.unknown({true, 40, 22, 0});
  EXPECT_TRUE(log.explains(10, 22));
  EXPECT_TRUE(log.explains(10, 40));
  EXPECT_FALSE(log.explains(10, 41));
}

TEST(Model, SpaceHandsNothingOutTwice) {
  Space space({8, 64});
  const Range a = space.take(20);
  const Range b = space.take(20);
  EXPECT_EQ(a.end(), b.begin);
  EXPECT_EQ(space.take(40).size, 0u);
  space.give(a);
  space.give(b);
  EXPECT_EQ(space.take(64).size, 64u);
}

}  // namespace
}  // namespace roce::swarm
