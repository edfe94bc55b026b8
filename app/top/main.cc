// uroce-top: what the endpoints of this user's running programs do, refreshed again and again.
// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "common/args.h"
#include "common/guarded.h"
#include "common/signals.h"
#include "screen.h"

namespace {

namespace top = uroce::top;

constexpr std::string_view kProgram = "uroce-top";
constexpr std::string_view kNone =
    "uroce-top: no running program answers; start it with --set telemetry.socket=true (or "
    "UROCE_TELEMETRY_SOCKET=true), as the same user and with the same XDG_RUNTIME_DIR\n";

struct Options {
  std::string socket;
  double interval_s = 1;
  uint64_t count = 0;  // 0: for ever
  uint64_t qps = 20;
  bool batch = false;
};

/// One process that is watched.
struct Watched {
  top::Client client;
  top::Sample before;
};

/// Connects to what is new; what has ended goes by itself. `skipped`: why some cannot be asked.
void find(const Options& options, std::map<std::string, Watched>& watched,
          std::vector<std::string>& skipped) {
  const std::vector<std::string> sockets =
      options.socket.empty() ? top::find_sockets() : std::vector{options.socket};
  for (const std::string& path : sockets) {
    if (!watched.contains(path)) {
      if (auto client = top::Client::connect(path)) {
        watched.emplace(path, Watched{std::move(*client), {}});
      } else {
        skipped.push_back(client.error().reason);
      }
    }
  }
}

std::string refresh(const Options& options, std::map<std::string, Watched>& watched,
                    std::vector<std::string>& skipped) {
  std::string text;
  for (auto at = watched.begin(); at != watched.end();) {
    auto sample = top::take_sample(at->second.client, options.qps);
    if (!sample) {
      skipped.push_back(sample.error().reason);
      at = watched.erase(at);
      continue;
    }
    text += top::show(at->second.client, *sample, at->second.before);
    at->second.before = std::move(*sample);
    ++at;
  }
  return text;
}

/// One line, however many there are; nothing when there are none.
std::string skipped_line(const std::vector<std::string>& skipped) {
  if (skipped.empty()) {
    return {};
  }
  const std::string others =
      skipped.size() > 1 ? fmt::format(" (and {} more)", skipped.size() - 1) : "";
  return fmt::format("uroce-top: not shown: {}{}\n", skipped.front(), others);
}

int watch(const Options& options) {
  const bool terminal = ::isatty(STDOUT_FILENO) != 0 && !options.batch;
  std::map<std::string, Watched> watched;
  for (uint64_t round = 0; !uroce::app::stop_requested(); ++round) {
    std::vector<std::string> skipped;
    find(options, watched, skipped);
    const std::string text = refresh(options, watched, skipped);
    const std::string rest = skipped_line(skipped);
    if (text.empty() && (options.count > 0 || !terminal)) {
      fmt::print(stderr, "{}{}", rest, kNone);
      return 1;
    }
    fmt::print("{}{}{}", terminal ? "\x1b[H\x1b[2J" : "", text.empty() ? std::string(kNone) : text,
               rest);
    std::fflush(stdout);
    if (options.count > 0 && round + 1 >= options.count) {
      break;
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval_s));
  }
  return 0;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Shows what the endpoints of running programs do; they need telemetry.socket.",
               std::string(kProgram));
  app.add_option("-s,--socket", options.socket, "this DPDK telemetry socket only")
      ->type_name("FILE");
  app.add_option("-d,--interval", options.interval_s, "seconds between two looks [1]")
      ->check(CLI::Range(0.1, 3600.0));
  app.add_option("-n,--count", options.count, "end after so many looks [never]");
  app.add_option("-q,--qps", options.qps, "queue pairs shown of each process [20]");
  app.add_flag("-b,--batch", options.batch, "do not clear the screen");
  app.set_version_flag("--version", "uroce " UROCE_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : uroce::app::kUsageError;
  }
  uroce::app::watch_signals();
  return watch(options);
}

}  // namespace

int main(int argc, char** argv) {
  return uroce::app::guarded(kProgram, [&] { return run(argc, argv); });
}
