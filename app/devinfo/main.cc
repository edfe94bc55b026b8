// uroce-devinfo: what ibv_devinfo tells about a device, and what uroce's stands on. Opens the
// configured device, so it is the wire's end meanwhile. SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/args.h"
#include "common/guarded.h"
#include "common/run/session.h"
#include "describe.h"

namespace {

using uroce::app::kDeviceName;
using uroce::devinfo::Line;

constexpr std::string_view kProgram = "uroce-devinfo";

struct Options : uroce::app::RunOptions {
  bool list = false;
  bool verbose = false;
};

std::optional<int> parse(int argc, char** argv, Options& options) {
  uroce::app::CommandLine line({.name = std::string(kProgram),
                                .description = "Tells what the configured device is and can do.",
                                .style = uroce::app::FlagStyle::tool},
                               options);
  line.app().add_option("-d,--ib-dev", options.device, "device [the only one, uroce0]");
  line.add_number("-i,--ib-port", "port of the device [1]", 1, 1, [](uint64_t) {});
  line.app().add_flag("-l,--list", options.list, "names of the devices only");
  line.app().add_flag("-v,--verbose", options.verbose, "all limits as well");
  return line.parse(argc, argv);
}

/// Lines as an object; what is indented below a heading goes into one of its own.
nlohmann::ordered_json json_of(const std::vector<Line>& lines) {
  nlohmann::ordered_json json;
  nlohmann::ordered_json* inner = &json;
  for (const Line& line : lines) {
    if (line.depth < 2) {
      inner = &json;
    }
    if (line.value.empty() || line.name == "port") {
      inner = &json[line.name];
    } else {
      (*inner)[line.name] = line.value;
    }
  }
  return json;
}

int tell(const Options& options, roce::Endpoint& endpoint) {
  const std::vector<Line> lines = uroce::devinfo::describe(endpoint, options.verbose);
  if (options.text()) {
    fmt::print("{}", uroce::devinfo::text_of(lines));
  }
  if (!options.json.empty()) {
    if (const auto written = uroce::app::write_json(json_of(lines), options.json); !written) {
      return uroce::app::report_failure(kProgram, written.error());
    }
  }
  return 0;
}

int run(int argc, char** argv) {
  Options options;
  if (const auto code = parse(argc, argv, options)) {
    return *code;
  }
  if (!options.device.empty() && options.device != kDeviceName) {
    return uroce::app::report_failure(
        kProgram, {ENODEV, fmt::format("--ib-dev {}: there is no such device; the only one is {}",
                                       options.device, kDeviceName)});
  }
  if (options.list) {
    fmt::print("1 HCA found:\n\t{}\n", kDeviceName);
    return 0;
  }
  roce::Config config;
  if (const auto code = uroce::app::load_settings(kProgram, options, config)) {
    return *code;
  }
  const auto endpoint = roce::Endpoint::open(config);
  if (!endpoint) {
    return uroce::app::report_failure(kProgram, endpoint.error());
  }
  return tell(options, **endpoint);
}

}  // namespace

int main(int argc, char** argv) {
  return uroce::app::guarded(kProgram, [&] { return run(argc, argv); });
}
