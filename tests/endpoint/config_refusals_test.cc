// Every way in which settings are refused, each with the words that a user sees.
// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/temp_dir.h"
#include "roce/config.h"

namespace roce {
namespace {

using ::testing::HasSubstr;

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string refusal(const ConfigSources& sources) {
  const auto config = load_config(sources);
  EXPECT_FALSE(config);
  if (config) {
    return "not refused";
  }
  EXPECT_EQ(config.error().code, EINVAL);
  EXPECT_EQ(config.error().reason.find('\n'), std::string::npos) << config.error().reason;
  return config.error().reason;
}

TEST(ConfigRefusals, FilesAreToldWithTheLineTheKeyAndWhatIsAllowed) {
  const Pairs rows = {
      {"side = \"a\"\n", ":1: side holds the tables side.a and side.b; the end is chosen"},
      {"[prot]\nmtu = 1500\n", ":1: unknown section prot (did you mean port?); the sections are"},
      {"mtu = 1500\n", ":1: unknown key mtu (did you mean port.mtu?); the sections are"},
      {"[port]\nmtv = 1500\n", ":2: unknown key port.mtv (did you mean port.mtu?)"},
      {"[side.b.port]\nside = \"a\"\n",
       ":2: port.side cannot stand under side.b, which it chooses"},
      {"[port]\nmtu = \"1500\"\n", ":2: port.mtu = '1500': must be "},
      {"[port]\n\nmtu == 1500\n", ":3: not TOML: "},
  };
  const test::TempDir folder;
  for (const auto& [text, words] : rows) {
    ConfigSources sources;
    sources.file = folder.write("x.toml", text);
    EXPECT_THAT(refusal(sources), HasSubstr(sources.file + words)) << text;
  }
}

/// Numbers that no integer can hold among them.
TEST(ConfigRefusals, ValuesOfAnotherTypeAreNotConverted) {
  const std::vector<std::string> all = {"1500",   "1500.0",    "5e32",      "-5e32",
                                        "inf",    "nan",       "true",      "\"1500\"",
                                        "[1500]", "{ a = 1 }", "1979-05-27"};
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"port.mtu", "1500"}, {"port.packed", "true"}, {"port.kind", "\"1500\""}};
  for (const auto& [key, own] : rows) {
    for (const std::string& value : all) {
      ConfigSources sources;
      sources.file = "x.toml";
      sources.text = key + " = " + value + "\n";
      if (value != own) {
        EXPECT_THAT(refusal(sources), HasSubstr("x.toml:1: " + key + " = ")) << *sources.text;
      }
    }
  }
}

TEST(ConfigRefusals, UnknownNamesInFlagsAndEnvironment) {
  ConfigSources sources;
  sources.environment = {{"UROCE_PORT_MTV", "1"}};
  EXPECT_THAT(refusal(sources),
              HasSubstr("environment UROCE_PORT_MTV: unknown variable (did you mean "
                        "UROCE_PORT_MTU?); unset it"));
  sources.environment = {};
  sources.flags = {{"port.mtv", "1", "--set port.mtv"}};
  EXPECT_THAT(refusal(sources), HasSubstr("flag --set port.mtv: unknown key port.mtv (did you mean "
                                          "port.mtu?); --show-config lists all"));
}

TEST(ConfigRefusals, ValuesThatAreOutOfRangeOrDoNotAgree) {
  struct Row {
    Pairs set;
    std::string words;
  };
  const std::string folder = "/" + std::string(200, 'd');
  const std::vector<Row> rows = {
      {{{"port.mtu", "7"}}, "flag --set: port.mtu = 7: must be "},
      {{{"port.socket", folder}}, "bytes; a UNIX socket's path has 1 to"},
      {{{"port.socket", "/tmp/a,b"}},
       "= \"/tmp/a,b\": DPDK cannot take a path with , [ ] or \"; choose another folder"},
      {{{"port.mtu", "1200"}, {"address.ipv6", "2001:db8::1/64"}},
       "port.mtu = 1200: IPv6 needs at least 1280; raise it or empty address.ipv6"},
      {{{"port.buffers", "1200"}}, "held packets at least "},
      {{{"eal.memory_mb", "64"}, {"port.buffers", "60000"}}, " MiB; raise it to "},
      {{{"engine.lcores", "9"}}, "bytes, times engine.lcores = 9, take "},
      {{{"engine.lcores", "2"}, {"port.buffers", "3583"}}, "held packets at least 3584 are needed"},
      {{{"engine.lcores", "17"}}, "engine.lcores = 17: must be 1 to 16"},
      {{{"engine.lcores", "4"}, {"eal.memory_mb", "4096"}, {"engine.drive", "lcore"}},
       "engine.lcores = 4: drive \"lcore\" polls on a CPU for each, and this process may use 3; "
       "lower it or allow more CPUs"},
  };
  for (const Row& row : rows) {
    ConfigSources sources;
    sources.cpus = {2, 3, 7};
    for (const auto& [key, value] : row.set) {
      sources.flags.push_back({key, value, "--set"});
    }
    EXPECT_THAT(refusal(sources), HasSubstr(row.words)) << row.set.front().first;
  }
}

}  // namespace
}  // namespace roce
