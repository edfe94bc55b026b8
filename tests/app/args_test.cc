// The shared command line: values, defaults, and one-line complaints.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/args.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace uroce::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

Program bw() {
  return {.name = "uroce-bw", .description = "Bandwidth", .mtu = 0};
}

Program pingpong() {
  return {.name = "uroce-pingpong",
          .description = "Latency",
          .style = FlagStyle::ibverbs,
          .size = 4096,
          .mtu = 1024};
}

RunOptions parsed(const Program& program, const Words& words) {
  RunOptions options;
  CommandLine line(program, options);
  const ParseOutcome outcome = line.parse(words);
  EXPECT_FALSE(outcome.exit_code) << outcome.error;
  return options;
}

std::string complaint(const Program& program, const Words& words) {
  RunOptions options;
  CommandLine line(program, options);
  const ParseOutcome outcome = line.parse(words);
  EXPECT_EQ(outcome.exit_code, kUsageError);
  EXPECT_EQ(outcome.output, "");
  EXPECT_EQ(outcome.error.find('\n'), std::string::npos);
  EXPECT_THAT(outcome.error,
              AllOf(StartsWith(program.name + ": "), HasSubstr("see " + program.name + " --help")));
  return outcome.error;
}

TEST(Amount, takes_plain_binary_multiples_and_hexadecimal) {
  EXPECT_EQ(parse_amount("0"), 0U);
  EXPECT_EQ(parse_amount("4096"), 4096U);
  EXPECT_EQ(parse_amount("64K"), 65536U);
  EXPECT_EQ(parse_amount("1m"), 1048576U);
  EXPECT_EQ(parse_amount("2GiB"), uint64_t{1} << 31U);
  EXPECT_EQ(parse_amount("0xfffffe"), 0xfffffeU);
  EXPECT_EQ(parse_amount("18446744073709551615"), UINT64_MAX);
  for (const char* wrong : {"", "K", "-1", "1.5K", "1T", "64KB", "0x1K", "1 ", "0x",
                            "18446744073709551616", "17179869184G"}) {
    EXPECT_FALSE(parse_amount(wrong)) << wrong;
  }
}

TEST(Args, nothing_given_is_a_server_with_the_programs_defaults) {
  const RunOptions options = parsed(pingpong(), {});
  EXPECT_TRUE(options.is_server());
  EXPECT_EQ(options.port, 18515);
  EXPECT_EQ(options.size, 4096U);
  EXPECT_EQ(options.connection.mtu, 1024U);
  EXPECT_EQ(options.iterations, 1000U);
  EXPECT_EQ(options.connection.gid_index, -1);
  EXPECT_FALSE(options.connection.start_psn);
  EXPECT_EQ(options.json, "");
  EXPECT_EQ(config_sources(options).default_side, roce::Side::a);
}

TEST(Args, host_makes_a_client_of_side_b) {
  const RunOptions options = parsed(bw(), {"-s", "1M", "server", "-n", "20"});
  EXPECT_FALSE(options.is_server());
  EXPECT_EQ(options.host, "server");
  EXPECT_EQ(options.size, 1048576U);
  EXPECT_EQ(options.iterations, 20U);
  EXPECT_EQ(config_sources(options).default_side, roce::Side::b);
}

TEST(Args, both_styles_take_their_own_short_flags) {
  const RunOptions one =
      parsed(pingpong(), {"-g", "1", "-c", "-m", "4096", "-d", "uroce0", "-i", "1", "-p4242"});
  EXPECT_EQ(one.connection.gid_index, 1);
  EXPECT_TRUE(one.validate);
  EXPECT_EQ(one.connection.mtu, 4096U);
  EXPECT_EQ(one.device, "uroce0");
  EXPECT_EQ(one.port, 4242);
  const RunOptions two =
      parsed(bw(), {"-x", "2", "-c", "RC", "-F", "-D", "5", "--data_validation", "--seed=0x10"});
  EXPECT_EQ(two.connection.gid_index, 2);
  EXPECT_TRUE(two.validate);
  EXPECT_EQ(two.duration_s, 5U);
  EXPECT_EQ(two.seed, 16U);
  EXPECT_EQ(parsed(pingpong(), {"--gid-index=3"}).connection.gid_index, 3);
  EXPECT_EQ(parsed(bw(), {"--gid-idx=3"}).connection.gid_index, 3);
  EXPECT_EQ(parsed(bw(), {"--start-psn", "0xfffff0"}).connection.start_psn, 0xfffff0U);
}

TEST(Args, settings_become_flags_of_the_configuration) {
  const RunOptions options =
      parsed(bw(), {"--set", "port.mtu=1500", "--set", "wrap.fault=loss=1%", "--side", "b",
                    "--drive=lcore", "--capture", "x.pcap", "--config", "a.toml", "host"});
  const roce::ConfigSources sources = config_sources(options);
  EXPECT_EQ(sources.file, "a.toml");
  ASSERT_EQ(sources.flags.size(), 5U);
  const auto find = [&](const std::string& key) {
    return *std::find_if(sources.flags.begin(), sources.flags.end(),
                         [&](const auto& flag) { return flag.key == key; });
  };
  EXPECT_EQ(find("port.mtu").value, "1500");
  EXPECT_EQ(find("port.mtu").flag, "--set port.mtu");
  EXPECT_EQ(find("wrap.fault").value, "loss=1%");
  EXPECT_EQ(find("port.side").value, "b");
  EXPECT_EQ(find("engine.drive").flag, "--drive");
  EXPECT_EQ(find("wrap.capture").value, "x.pcap");
  EXPECT_EQ(options.host, "host");
}

TEST(Args, json_never_takes_the_host_for_its_file) {
  const RunOptions to_stdout = parsed(bw(), {"--json", "server"});
  EXPECT_EQ(to_stdout.json, "-");
  EXPECT_EQ(to_stdout.host, "server");
  EXPECT_EQ(parsed(bw(), {"--json=out.json", "server"}).json, "out.json");
  EXPECT_THAT(complaint(bw(), {"--json", "out.json", "server"}), HasSubstr("--json=FILE"));
}

TEST(Args, unknown_flag_is_named_with_the_nearest) {
  EXPECT_THAT(complaint(bw(), {"--itres", "5"}),
              AllOf(HasSubstr("unknown flag --itres"), HasSubstr("did you mean --iters?")));
  EXPECT_THAT(complaint(bw(), {"--data-validation"}), HasSubstr("--data_validation?"));
  EXPECT_THAT(complaint(bw(), {"--frobnicate=1"}), HasSubstr("unknown flag --frobnicate;"));
  EXPECT_THAT(complaint(bw(), {"one", "two"}), HasSubstr("two"));
}

TEST(Args, wrong_value_is_named_with_the_allowed_ones) {
  EXPECT_THAT(complaint(bw(), {"-s", "0"}), HasSubstr("--size 0: must be 1 to 8388608"));
  EXPECT_THAT(complaint(bw(), {"-s", "16M"}), HasSubstr("--size 16M: must be 1 to 8388608"));
  EXPECT_THAT(complaint(bw(), {"-s", "-1"}), HasSubstr("--size"));
  EXPECT_THAT(complaint(bw(), {"-m", "1500"}),
              HasSubstr("--mtu 1500: must be one of 256, 512, 1024, 2048, 4096"));
  EXPECT_THAT(complaint(bw(), {"-p", "65536"}), HasSubstr("--port 65536: must be 1 to 65535"));
  EXPECT_THAT(complaint(bw(), {"-n", "many"}), HasSubstr("--iters many"));
  EXPECT_THAT(complaint(bw(), {"-c", "rc"}), HasSubstr("one of RC"));
  EXPECT_THAT(complaint(bw(), {"-i", "2"}), HasSubstr("--ib-port 2: must be 1 to 1"));
  EXPECT_THAT(complaint(bw(), {"--start-psn", "0x1000000"}), HasSubstr("16777215"));
  EXPECT_THAT(complaint(bw(), {"--set", "port.mtu"}), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(complaint(bw(), {"-s"}), HasSubstr("--size"));
}

TEST(Args, operations_are_named) {
  EXPECT_EQ(parsed(bw(), {}).operation, Operation::send);
  for (const Operation operation : kOperations) {
    EXPECT_EQ(parsed(pingpong(), {"--op", std::string(name_of(operation))}).operation, operation);
  }
  EXPECT_THAT(
      complaint(bw(), {"--op", "wriet"}),
      AllOf(HasSubstr("--op wriet: must be one of send, write"), HasSubstr("did you mean write?")));
}

TEST(Args, programs_add_flags_of_their_own) {
  RunOptions options;
  CommandLine line(bw(), options);
  uint16_t depth = 128;
  std::string word;
  line.add_number_into("-t,--tx-depth", "depth", 1, 4096, depth);
  line.add_choice("--word", "word", {"one", "two"}, [&word](const std::string& w) { word = w; });
  EXPECT_FALSE(line.parse(Words{"--word", "two", "-t", "64"}).exit_code);
  EXPECT_EQ(word, "two");
  EXPECT_EQ(depth, 64U);
}

TEST(Args, help_and_version_end_well) {
  for (const char* flag : {"-h", "--help"}) {
    RunOptions options;
    CommandLine line(bw(), options);
    const ParseOutcome outcome = line.parse(Words{flag});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.output,
                AllOf(HasSubstr("--size"), HasSubstr("--fault"), HasSubstr("[65536]"),
                      HasSubstr("host"), HasSubstr("--json[=FILE] ")));
  }
  RunOptions options;
  CommandLine line(bw(), options);
  const ParseOutcome outcome = line.parse(Words{"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, StartsWith("uroce "));
}

}  // namespace
}  // namespace uroce::app
