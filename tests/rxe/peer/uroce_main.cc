// rxe-uroce-peer: uroce's end of the matrix, which leads: it takes rxe-ibv-peer through the cells
// and reports how each ended.
// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <roce/endpoint.h>

#include "common/args.h"
#include "common/guarded.h"
#include "common/run/run_counters.h"
#include "common/run/session.h"
#include "meeting.h"
#include "uroce_end.h"

namespace uroce::rxe {
namespace {

using Json = nlohmann::ordered_json;
using roce::Result;

constexpr std::string_view kProgram = "rxe-uroce-peer";
constexpr std::chrono::seconds kConnectPatience{20};

struct Options {
  app::RunOptions common;
  std::string only;
  bool list = false;
};

Result<app::SideChannel> connect(const app::RunOptions& options, Opener& opener) {
  return app::SideChannel::connect(options.host, options.port, waiting_with(opener),
                                   kConnectPatience);
}

Result<std::string> run_cell(const Cell& cell, const app::RunOptions& options, Opener& opener) {
  auto channel = connect(options, opener);
  if (!channel) {
    return tl::make_unexpected(channel.error());
  }
  if (auto done = channel->send_line(text_of(cell), "the name of a cell"); !done) {
    return tl::make_unexpected(done.error());
  }
  return play(cell, opener, *channel, true);
}

/// What the counters that grew have grown by.
Json growth(const app::Counters& before, const app::Counters& after) {
  std::map<std::string, uint64_t> old(before.begin(), before.end());
  Json grown = Json::object();
  for (const auto& [name, value] : after) {
    if (const uint64_t more = value - old[name]; more != 0) {
      grown[name] = more;
    }
  }
  return grown;
}

Json report(const Cell& cell, const Result<std::string>& verdict, double seconds, Json counters) {
  const bool deviates = verdict && !verdict->empty();
  return {{"cell", text_of(cell)},
          {"verdict", !verdict   ? "failed"
                      : deviates ? "deviates"
                                 : "passed"},
          {"note", verdict ? *verdict : verdict.error().reason},
          {"seconds", seconds},
          {"counters", std::move(counters)}};
}

void print(const Json& line) {
  fmt::print("{:<8} {:<40} {:6.2f} s  {} {}\n", line["verdict"].get<std::string>(),
             line["cell"].get<std::string>(), line["seconds"].get<double>(),
             line["note"].get<std::string>(), line["counters"].dump());
  std::fflush(stdout);
}

int run(const Options& options, const std::vector<Cell>& cells, const roce::Config& config) {
  auto endpoint = roce::Endpoint::open(config);
  if (!endpoint) {
    return app::report_failure(kProgram, endpoint.error());
  }
  UroceOpener opener(**endpoint);
  Json lines = Json::array();
  bool failed = false;
  for (const Cell& cell : cells) {
    const auto start = std::chrono::steady_clock::now();
    const app::Counters before = app::run_counters(**endpoint);
    const auto verdict = run_cell(cell, options.common, opener);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    lines.push_back(
        report(cell, verdict, took.count(), growth(before, app::run_counters(**endpoint))));
    print(lines.back());
    failed = failed || !verdict;
  }
  if (auto channel = connect(options.common, opener)) {
    static_cast<void>(channel->send_line("end", "the end"));
  }
  if (!options.common.json.empty()) {
    std::ofstream(options.common.json) << lines.dump(1) << '\n';
  }
  return failed ? 1 : 0;
}

int main_with(int argc, char** argv) {
  Options options;
  app::CommandLine line({.name = std::string(kProgram),
                         .description = "Takes rxe-ibv-peer at HOST through the cells of the "
                                        "interoperability matrix."},
                        options.common);
  line.app().add_option("--only", options.only, "cells whose name matches this pattern [all]");
  line.app().add_flag("--list", options.list, "print the cells' names and end");
  if (const auto code = line.parse(argc, argv)) {
    return *code;
  }
  const auto cells = matching(all_cells(), options.only);
  if (!cells) {
    return app::report_failure(kProgram, cells.error());
  }
  if (options.list) {
    for (const Cell& cell : *cells) {
      fmt::print("{}\n", text_of(cell));
    }
    return 0;
  }
  if (options.common.is_server()) {
    fmt::print(stderr, "{}: name the host where rxe-ibv-peer runs\n", kProgram);
    return app::kUsageError;
  }
  roce::Config config;
  if (const auto code = app::load_settings(kProgram, options.common, config)) {
    return *code;
  }
  return run(options, *cells, config);
}

}  // namespace
}  // namespace uroce::rxe

int main(int argc, char** argv) {
  return uroce::app::guarded(uroce::rxe::kProgram,
                             [&] { return uroce::rxe::main_with(argc, argv); });
}
