// From the command line to the printed results.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire_bench/program.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <roce/config.h>

#include "common/args.h"
#include "common/report.h"
#include "common/signals.h"
#include "wire_bench/yardstick.h"

namespace uroce::wire_bench {
namespace {

using roce::Config;
using roce::Result;
using roce::Side;

constexpr std::string_view kProgram = "uroce-wire-bench";
constexpr std::string_view kDescription =
    "Measures in turn bare frames over a port (raw), the same with each payload copied and its "
    "ICRC "
    "made and checked (limit), and uroce over the same port: two processes on a core each, frames "
    "of one size, medians of 2 ms slices. Raw loops write and read one word of every cache line of "
    "a frame; raw and limit send one way. Takes the default wire, or that of --config; faults, "
    "captures and engine.drive do not apply.";

struct Options {
  uint32_t rounds = 7;
  uint32_t phase_ms = 400;
  std::string slices = "median";
  std::string json;
  std::string plot;
  std::string config_file;
  std::vector<std::string> settings;
  std::vector<std::string> only;
};

/// A folder for the wire's socket, gone at the end.
class SocketFolder {
 public:
  SocketFolder() : path_(mkdtemp(pattern_.data()) == nullptr ? "" : pattern_) {}
  ~SocketFolder() {
    if (!path_.empty()) {
      unlink(socket().c_str());
      rmdir(path_.c_str());
    }
  }
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;

  bool exists() const { return !path_.empty(); }
  std::string socket() const { return path_ + "/wire.sock"; }

 private:
  std::string pattern_ = "/tmp/uroce-bench-XXXXXX";
  std::string path_;
};

int report(const roce::Error& error) {
  fmt::print(stderr, "{}: {}\n", kProgram, error.reason);
  const int signal = app::stop_signal();
  return signal != 0 ? 128 + signal : 1;
}

/// Reads the command line; an exit code when the program must end.
std::optional<int> parse(int argc, char** argv, Options& options) {
  CLI::App cli{std::string(kDescription), std::string(kProgram)};
  cli.get_formatter()->column_width(32);
  cli.add_option("--rounds", options.rounds, "rounds; figures are medians over them [7]")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  cli.add_option("--phase-ms", options.phase_ms,
                 "measured time of a phase, of which a round has 21 [400]")
      ->check(CLI::Range(20, 60'000))
      ->type_name("MS");
  cli.add_option("--only", options.only, "only these figures")
      ->check(CLI::IsMember(measurement_names()))
      ->delimiter(',')
      ->type_name("NAME,...");
  cli.add_option(
         "--slices", options.slices,
         "which slice is the rate of a phase: the median one, or p90, for a machine so busy "
         "that the median one is disturbed [median]")
      ->check(CLI::IsMember({"median", "p90"}))
      ->type_name("WORD");
  cli.add_option("--json", options.json, "write the results here as JSON; - is stdout")
      ->type_name("FILE");
  cli.add_option("--plot", options.plot,
                 "draw the ratios, round by round, into this *.svg or *.png, by gnuplot")
      ->type_name("FILE");
  cli.add_option("--config", options.config_file, "configuration of both ends")->type_name("FILE");
  cli.add_option("--set", options.settings, "one setting of both ends, as in the file")
      ->type_name("KEY=VALUE");
  try {
    cli.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", cli.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "{}: {}\n", kProgram, error.what());
    return app::kUsageError;
  }
  return std::nullopt;
}

Result<Config> load(const Options& options, Side side, const std::string& socket) {
  roce::ConfigSources sources;
  sources.default_side = side;
  sources.file = options.config_file;
  sources.environment = roce::process_environment();
  for (const std::string& setting : options.settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos) {
      return roce::failure(EINVAL, fmt::format("--set {}: must be KEY=VALUE", setting));
    }
    const std::string key = setting.substr(0, equals);
    sources.flags.push_back({key, setting.substr(equals + 1), "--set " + key});
  }
  // Both ends are this program's own.
  sources.flags.push_back({"port.side", std::string(name_of(side)), std::string(kProgram)});
  auto config = roce::load_config(sources);
  if (config) {
    config->port.socket = socket;  // other kinds of port do not look at it
  }
  return config;
}

std::string wire_text(const std::array<Config, 2>& configs, uint32_t path_mtu,
                      const Options& options) {
  const Config& c = configs[0];
  return fmt::format(
      "{}{}, {}, path MTU {}; a receives on CPU {}, b sends on CPU {}; {} rounds, {} of 2 ms "
      "slices\nraw: bare loops that touch each cache line; limit: bare loops with copy and ICRC",
      name_of(c.port.kind),
      c.port.kind != roce::PortKind::virtio_user ? ""
      : c.port.packed                            ? " with vhost, packed ring"
                                                 : " with vhost, split ring",
      c.eal.hugepages ? "hugepages" : "no hugepages", path_mtu, c.eal.cpu, configs[1].eal.cpu,
      options.rounds, options.slices == "p90" ? "90th percentiles" : "medians");
}

Result<Results> measure(const Options& options, const std::array<Config, 2>& configs) {
  Yardstick yardstick({.measured = roce::Duration::from_ms(options.phase_ms),
                       .best_slices = options.slices == "p90",
                       .only = options.only});
  if (auto s = yardstick.start(configs); !s) {
    return tl::make_unexpected(s.error());
  }
  const bool watched = isatty(STDERR_FILENO) != 0;
  for (uint32_t round = 0; round < options.rounds; ++round) {
    if (watched) {
      fmt::print(stderr, "\rround {} of {} ", round + 1, options.rounds);
    }
    if (auto s = yardstick.run_round(round); !s) {
      return tl::make_unexpected(s.error());
    }
  }
  if (watched) {
    fmt::print(stderr, "\r");
  }
  return yardstick.results(wire_text(configs, yardstick.path_mtu(), options));
}

int run(const Options& options) {
  const SocketFolder folder;
  if (!folder.exists()) {
    return report({errno, fmt::format("no folder for the wire's socket in /tmp: errno {}", errno)});
  }
  std::array<Config, 2> configs;
  for (const Side side : {Side::a, Side::b}) {
    auto config = load(options, side, folder.socket());
    if (!config) {
      return report(config.error());
    }
    configs[side == Side::a ? 0 : 1] = std::move(*config);
  }
  if (configs[0].eal.cpu == configs[1].eal.cpu) {
    return report(
        {EINVAL, fmt::format("both ends would poll on CPU {}; the bench needs two CPUs: "
                             "allow this process another one (taskset), or set eal.cpu in "
                             "[side.a] and [side.b] of a file",
                             configs[0].eal.cpu)});
  }
  const auto results = measure(options, configs);
  if (!results) {
    return report(results.error());
  }
  if (options.json != "-") {
    fmt::print("{}\n", table(*results));
  }
  if (!options.json.empty()) {
    if (auto s = app::write_json(json_of(*results), options.json); !s) {
      return report(s.error());
    }
  }
  if (!options.plot.empty()) {
    if (auto s = app::draw(plot_of(*results), options.plot); !s) {
      return report(s.error());
    }
  }
  return 0;
}

}  // namespace

int run_program(int argc, char** argv) {
  Options options;
  if (const auto code = parse(argc, argv, options)) {
    return *code;
  }
  app::watch_signals();
  return run(options);
}

}  // namespace uroce::wire_bench
