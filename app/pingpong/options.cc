// Flags of uroce-pingpong and what they must not mean together.
// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "common/args.h"

namespace uroce::pingpong {
namespace {

constexpr uint64_t kMaxSize = uint64_t{1} << 30U;

app::Program program() {
  return {.name = std::string(kProgram),
          .description =
              "Bounces a message between two ends and measures the time. Start "
              "it without a host first, then with the first one's host.",
          .style = app::FlagStyle::ibverbs,
          .size = 4096,
          .max_size = kMaxSize,
          .iterations = 1000,
          .mtu = 1024,
          .recv_depth = 500};
}

int complain(std::string_view what) {
  fmt::print(stderr, "{}: {}; see {} --help\n", kProgram, what, kProgram);
  return app::kUsageError;
}

}  // namespace

std::optional<int> parse(int argc, const char* const* argv, Options& options) {
  app::CommandLine line(program(), options);
  line.app().add_flag("--stock", options.stock,
                      "client: the server is ibv_rc_pingpong of ibverbs-utils");
  line.app()
      .add_option(
          "--rate", options.rate,
          "open loop: start this many messages a second, and measure from when each was due")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  if (const auto code = line.parse(argc, argv)) {
    return code;
  }
  if (options.stock && options.is_server()) {
    return complain("--stock goes with a host argument; a server recognises stock clients itself");
  }
  if (options.stock && options.operation != app::Operation::send) {
    return complain(fmt::format("--op {}: the stock tools only SEND; leave out --op or --stock",
                                name_of(options.operation)));
  }
  return std::nullopt;
}

}  // namespace uroce::pingpong
