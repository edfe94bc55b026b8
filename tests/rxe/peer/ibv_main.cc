// rxe-ibv-peer: the end of the matrix that runs over libibverbs. Waits for rxe-uroce-peer, which
// says cell after cell what to do, until it says that was all.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "common/guarded.h"
#include "ibv_end.h"
#include "meeting.h"

namespace uroce::rxe {
namespace {

constexpr std::string_view kProgram = "rxe-ibv-peer";
constexpr std::string_view kEnd = "end";

int complain(const roce::Error& error) {
  fmt::print(stderr, "{}: {}\n", kProgram, error.reason);
  return 1;
}

/// One connection, one cell. False when it was the last.
bool serve(app::SideChannel& channel, IbvOpener& opener) {
  const auto line = channel.receive_line("the name of a cell");
  if (!line) {
    complain(line.error());
    return true;
  }
  if (*line == kEnd) {
    return false;
  }
  const auto cell = parse_cell(*line);
  if (!cell) {
    channel.send_stop(cell.error().reason);
    complain(cell.error());
    return true;
  }
  const auto verdict = play(*cell, opener, channel, false);
  fmt::print("{}: {}\n", *line, verdict ? "ok" : verdict.error().reason);
  std::fflush(stdout);
  return true;
}

int run(const std::string& device, const std::string& interface, uint16_t port) {
  auto opener = IbvOpener::create(device, interface);
  if (!opener) {
    return complain(opener.error());
  }
  auto listener = app::Listener::open(port);
  if (!listener) {
    return complain(listener.error());
  }
  while (true) {
    auto channel = listener->accept({});
    if (!channel) {
      return complain(channel.error());
    }
    channel->set_waiting(waiting_with(**opener));
    if (!serve(*channel, **opener)) {
      return 0;
    }
  }
}

int main_with(int argc, char** argv) {
  CLI::App app("The end of uroce's interoperability matrix that runs over libibverbs.");
  std::string device;
  std::string interface;
  uint16_t port = 18600;
  app.add_option("-d,--ib-dev", device, "device [the first]");
  app.add_option("-n,--net-dev", interface, "network interface whose addresses to use [any]");
  app.add_option("-p,--port", port, "TCP port that rxe-uroce-peer connects to [18600]");
  CLI11_PARSE(app, argc, argv);
  return run(device, interface, port);
}

}  // namespace
}  // namespace uroce::rxe

int main(int argc, char** argv) {
  return uroce::app::guarded(uroce::rxe::kProgram,
                             [&] { return uroce::rxe::main_with(argc, argv); });
}
