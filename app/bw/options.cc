// Flags of uroce-bw.
// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <CLI/CLI.hpp>

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

}  // namespace

std::optional<int> parse(int argc, const char* const* argv, Options& options) {
  app::CommandLine line(program(), options);
  add_depths(line, options);

  bool gbits = false;
  line.app().add_flag("--report_gbits", gbits, "rates in Gb/s instead of MiB/s");
  if (const auto code = line.parse(argc, argv)) {
    return code;
  }
  options.unit = gbits ? app::BandwidthUnit::gbit : app::BandwidthUnit::mib;
  return std::nullopt;
}

}  // namespace uroce::bw
