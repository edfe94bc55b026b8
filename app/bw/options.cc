// Flags of uroce-bw.
// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <array>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>

namespace uroce::bw {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"send", "write", "read"};
constexpr uint64_t kMaxDepth = 8192;

app::Program program() {
  return {.name = std::string(kProgram),
          .description =
              "Streams messages from one end to the other over RC and measures the "
              "rate. Start it without a host first, then with the first one's host.",
          .style = app::FlagStyle::perftest,
          .size = 65536,
          .max_size = 8388608,
          .iterations = 5000,
          .min_iterations = 1,
          .mtu = 0};
}

Operation operation_named(std::string_view word) {
  size_t i = 0;
  while (i + 1 < kNames.size() && kNames[i] != word) {
    ++i;
  }
  return static_cast<Operation>(i);
}

template <class T>
std::function<void(uint64_t)> into(T& target) {
  return [&target](uint64_t value) { target = static_cast<T>(value); };
}

void add_depths(app::CommandLine& line, Options& options) {
  line.add_number("-t,--tx-depth", "messages under way [128]", 1, kMaxDepth,
                  into(options.rc.send_depth));
  line.add_number("-r,--rx-depth", "receives posted, for --op send [512]", 1, kMaxDepth,
                  into(options.rc.recv_depth));
  line.add_number("-l,--post_list", "messages posted in one call [16]", 1, kMaxDepth,
                  into(options.post_list));
  line.add_number("-Q,--cq-mod", "messages a completion [100, at most a quarter of --tx-depth]", 1,
                  kMaxDepth, into(options.cq_moderation));
  options.rc.outstanding_reads = 16;
  line.add_number("-o,--outs", "READs under way on the wire [16]", 1, 128,
                  into(options.rc.outstanding_reads));
}

}  // namespace

std::string_view name_of(Operation operation) {
  return kNames[static_cast<size_t>(operation)];
}

std::optional<int> parse(int argc, const char* const* argv, Options& options) {
  app::CommandLine line(program());
  std::string operation = "send";
  line.add_choice("--op", "what is measured [send]", {kNames.begin(), kNames.end()}, operation);
  add_depths(line, options);
  line.add_number("-q,--qp", "queue pairs [1]", 1, 1, [](uint64_t) {});
  line.add_number("-S,--sl", "service level [0]", 0, 7, into(options.rc.service_level));
  line.add_number("--tclass,-T,--tos", "traffic class [0]", 0, 255, into(options.rc.traffic_class));
  app::add_retry_flags(line, options.rc);
  bool gbits = false;
  line.app().add_flag("--report_gbits", gbits, "rates in Gb/s instead of MiB/s");
  if (const auto code = line.parse(argc, argv)) {
    return code;
  }
  options.common = line.options();
  options.operation = operation_named(operation);
  options.unit = gbits ? app::BandwidthUnit::gbit : app::BandwidthUnit::mib;
  options.rc.gid_index = options.common.gid_index;
  options.rc.mtu = options.common.mtu;
  options.rc.start_psn = options.common.start_psn;
  return std::nullopt;
}

}  // namespace uroce::bw
