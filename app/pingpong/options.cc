// Flags of uroce-pingpong and what they must not mean together.
// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <array>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace uroce::pingpong {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"send", "write", "read"};
constexpr uint64_t kMaxSize = uint64_t{1} << 30U;

app::Program program() {
  return {.name = std::string(kProgram),
          .description =
              "Bounces a message between two ends over RC and measures the time. Start "
              "it without a host first, then with the first one's host.",
          .style = app::FlagStyle::ibverbs,
          .size = 4096,
          .max_size = kMaxSize,
          .iterations = 1000,
          .min_iterations = 1,
          .mtu = 1024};
}

Operation operation_named(std::string_view word) {
  size_t i = 0;
  while (i + 1 < kNames.size() && kNames[i] != word) {
    ++i;
  }
  return static_cast<Operation>(i);
}

int complain(std::string_view what) {
  fmt::print(stderr, "{}: {}; see {} --help\n", kProgram, what, kProgram);
  return app::kUsageError;
}

}  // namespace

std::string_view name_of(Operation operation) {
  return kNames[static_cast<size_t>(operation)];
}

std::optional<int> parse(int argc, const char* const* argv, Options& options) {
  app::CommandLine line(program());
  std::string operation = "send";
  line.add_choice("--op", "what bounces [send]", {kNames.begin(), kNames.end()}, operation);
  options.rc.recv_depth = 500;
  line.add_number("-r,--rx-depth", "receives posted at a time [500]", 1, 16384,
                  [&options](uint64_t v) { options.rc.recv_depth = static_cast<uint32_t>(v); });
  line.add_number("-l,--sl", "service level [0]", 0, 7,
                  [&options](uint64_t v) { options.rc.service_level = static_cast<uint8_t>(v); });
  app::add_retry_flags(line, options.rc);
  line.app().add_flag("--stock", options.stock,
                      "client: the server is ibv_rc_pingpong of ibverbs-utils");
  if (const auto code = line.parse(argc, argv)) {
    return code;
  }
  options.common = line.options();
  options.operation = operation_named(operation);
  options.rc.gid_index = options.common.gid_index;
  options.rc.mtu = options.common.mtu;
  options.rc.start_psn = options.common.start_psn;
  if (options.stock && options.common.is_server()) {
    return complain("--stock goes with a host argument; a server recognises stock clients itself");
  }
  if (options.stock && options.operation != Operation::send) {
    return complain(
        fmt::format("--op {}: the stock tools only SEND; leave out --op or --stock", operation));
  }
  return std::nullopt;
}

}  // namespace uroce::pingpong
