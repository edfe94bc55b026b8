// Flags of uroce-bw.
// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "common/args.h"

namespace uroce::bw {
namespace {

constexpr uint32_t kMaxDepth = 8192;

app::Program program() {
  return {.name = std::string(kProgram),
          .description =
              "Streams messages from one end to the other and measures the "
              "rate. Start it without a host first, then with the first one's host.",
          .style = app::FlagStyle::perftest,
          .size = 65536,
          .max_size = 8388608,
          .iterations = 5000,
          .mtu = 0,
          .recv_depth = 512,
          .max_recv_depth = kMaxDepth};
}

void add_depths(app::CommandLine& line, Options& options) {
  line.add_number_into("-t,--tx-depth", "messages under way [128]", 1, kMaxDepth,
                       options.connection.send_depth);
  line.add_number_into("-l,--post_list", "messages posted in one call [16]", 1, kMaxDepth,
                       options.post_list);
  line.add_number_into("-Q,--cq-mod",
                       "messages a completion [100, at most a quarter of --tx-depth]", 1, kMaxDepth,
                       options.cq_moderation);
  options.connection.outstanding_reads = 16;
  line.add_number_into("-o,--outs", "READs and atomics under way on the wire [16]", 1, 128,
                       options.connection.outstanding_reads);
}

void add_rate(app::CommandLine& line, Options& options) {
  line.app()
      .add_option("--rate_limit", options.rate, "most that is sent, in --rate_units [no limit]")
      ->check(CLI::PositiveNumber);
  line.add_choice("--rate_units", "M: MiB/s, g: Gb/s, p: messages/s [M]", {"M", "g", "p"},
                  [&options](const std::string& word) { options.rate_unit = word.front(); });
  line.add_number_into("--burst_size", "messages that go at once under a limit [1]", 1, kMaxDepth,
                       options.burst);
  line.app()
      .add_option("-w,--limit_bw", options.least_bandwidth, "fail below this average")
      ->check(CLI::PositiveNumber);
  line.app()
      .add_option("-y,--limit_msgrate", options.least_rate, "fail below this rate, in Mpps")
      ->check(CLI::PositiveNumber);
}

void add_shape(app::CommandLine& line, Options& options) {
  CLI::App& app = line.app();
  app.add_flag("-a,--all", options.sweep, "sizes 2, 4, ... up to 8 MiB, one after the other");
  app.add_flag("-b,--bidirectional", options.bidirectional, "both ends send");
  app.add_flag("--report-both", options.bidirectional, "the same");
  app.add_flag("--perform_warm_up", options.warm_up, "a run that is not measured first");
  app.add_flag_function(
      "--run_infinitely", [&options](int64_t) { options.duration_s = 1'000'000; },
      "run until it is interrupted");
  line.add_number_into("-f,--margin", "with -D: seconds left out at both ends [0]", 0, 1000,
                       options.margin_s);
  app.add_flag("-N,--noPeak", options.no_peak, "do not measure the peak");
  app.add_flag("--cpu_util", options.cpu_use, "the share of a CPU that the run took");
  line.add_number_into("--wait_destroy", "seconds before the queue pairs go [0]", 0, 1000,
                       options.linger_s);
  line.add_choice("--output", "print this number alone", {"bandwidth", "message_rate"},
                  [&options](const std::string& word) { options.only = word; });
}

void add_others(app::CommandLine& line, Options& options) {
  line.add_choice("-A,--atomic_type", "which atomic; sets --op", {"CMP_AND_SWAP", "FETCH_AND_ADD"},
                  [&options](const std::string& word) {
                    options.operation = word == "CMP_AND_SWAP" ? app::Operation::atomic_cswap
                                                               : app::Operation::atomic_fadd;
                  });
  line.app().add_flag_function(
      "--write_with_imm", [&options](int64_t) { options.operation = app::Operation::write_imm; },
      "the same as --op write_imm");
  line.app().add_flag_function(
      "--out_json",
      [&options](int64_t) {
        options.json = options.json.empty() ? "perftest_out.json" : options.json;
      },
      "the result as JSON, to perftest_out.json");
  line.app()
      .add_option("--out_json_file", options.json, "the result as JSON, to this file")
      ->type_name("FILE");
}

/// What does not go together, or nothing.
std::string contradiction(const Options& options) {
  if (options.bidirectional && (options.connection.use_srq || options.connection.events)) {
    return "-b: goes without --use-srq and --events; leave them out";
  }
  if (options.margin_s > 0 && 2 * options.margin_s >= options.duration_s) {
    return fmt::format("--margin {}: twice that must be less than --duration {}; lower it",
                       options.margin_s, options.duration_s);
  }
  if (options.sweep && (options.size_given || is_atomic(options.operation))) {
    return "-a: runs through all sizes; leave out --size, and atomics";
  }
  return {};
}

}  // namespace

double Options::messages_per_second() const {
  const auto bytes = static_cast<double>(size);
  return rate_unit == 'p' ? rate : rate * (rate_unit == 'g' ? 1e9 / 8 : 1048576.0) / bytes;
}

std::optional<int> parse(int argc, const char* const* argv, Options& options) {
  app::CommandLine line(program(), options);
  add_depths(line, options);
  add_shape(line, options);
  add_rate(line, options);
  add_others(line, options);

  bool gbits = false;
  line.app().add_flag("--report_gbits", gbits, "rates in Gb/s instead of MiB/s");
  if (const auto code = line.parse(argc, argv)) {
    return code;
  }
  if (const std::string wrong = contradiction(options); !wrong.empty()) {
    fmt::print(stderr, "{}: {}; see {} --help\n", kProgram, wrong, kProgram);
    return app::kUsageError;
  }
  options.unit = gbits ? app::BandwidthUnit::gbit : app::BandwidthUnit::mib;
  return std::nullopt;
}

}  // namespace uroce::bw
