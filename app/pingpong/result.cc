// The result as text and as JSON.
// SPDX-License-Identifier: BSD-3-Clause
#include "result.h"

#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/run/session.h"

namespace uroce::pingpong {
namespace {

uint64_t messages_of(const Options& options, const Outcome& outcome) {
  return outcome.iterations * (fetches(options.operation) ? 1 : 2);
}

app::LatencyResult latency(const Options& options, const Outcome& outcome) {
  // A round trip is two messages; what is fetched is one.
  const int divisor = fetches(options.operation) ? 1 : 2;
  return app::latency_result(options.size, outcome.times, outcome.seconds, divisor);
}

std::string bytes_line(const Options& options, const Outcome& outcome) {
  if (!fetches(options.operation)) {
    return app::pingpong_bytes_line(options.size, outcome.iterations, outcome.seconds);
  }
  const uint64_t bytes = options.size * outcome.iterations;
  return fmt::format(
      "{} bytes in {:.2f} seconds = {:.2f} Mbit/sec", bytes, outcome.seconds,
      outcome.seconds > 0 ? static_cast<double>(bytes) * 8 / 1e6 / outcome.seconds : 0.0);
}

void print_times(const Options& options, const Outcome& outcome) {
  fmt::print("{}\n{}\n", bytes_line(options, outcome),
             app::pingpong_iterations_line(outcome.iterations, outcome.seconds));
  if (outcome.times.count() > 0) {
    const app::LatencyResult figures = latency(options, outcome);
    fmt::print("  {}:\n{}\n",
               fetches(options.operation) ? "from the post to the completion"
                                          : "one way, taken as half of a round trip",
               app::percentiles_line(figures));
    fmt::print("  mean {:.2f} usec, 95 % confidence {:.2f} usec more or less\n", figures.mean,
               app::confidence_of_mean(figures));
  }
}

}  // namespace

void print_result(const Options& options, const RunResult& result) {
  const Outcome& outcome = result.outcome;
  if (result.interrupted && outcome.iterations > 0) {
    fmt::print("interrupted after {} of {} iterations\n", outcome.iterations, options.iterations);
  } else if (result.interrupted) {
    fmt::print("interrupted\n");  // the server of READs does not see them
  }
  if (outcome.iterations > 0) {
    print_times(options, outcome);
  }
  if (result.processor) {
    fmt::print("{}\n", app::processor_line(result.processor, messages_of(options, outcome)));
  }
  if (outcome.checked > 0) {
    fmt::print("  {} messages checked, every byte\n", outcome.checked);
  }
  fmt::print("{}\n", app::counters_line(result.counters));
  std::fflush(stdout);
}

app::Plot plot_of(const Options& options, const RunResult& result) {
  const std::string name =
      fmt::format("{} bytes, {} times", options.size, result.outcome.times.count());
  return {
      .title = fmt::format(
          "Latency of {} {}{}", name_of(options.connection.transport), name_of(options.operation),
          options.rate > 0 ? fmt::format(", {:.0f} a second", options.rate) : std::string()),
      .x_label = "percentile",
      .y_label = fetches(options.operation) ? "post to completion [usec]" : "one way [usec]",
      .nines = true,
      .curves = {
          app::percentile_curve(name, result.outcome.times, fetches(options.operation) ? 1 : 2)}};
}

roce::Status write_result(const Options& options, const RunResult& result) {
  app::TestInfo info;
  info.test = fmt::format("{} pingpong", name_of(options.operation));
  info.device = app::kDeviceName;
  info.connection_type = name_of(options.connection.transport);
  info.qps = options.qps;
  info.rx_depth = options.connection.recv_depth;
  info.mtu = options.connection.mtu;
  info.gid_index = options.connection.gid_index;
  auto json = app::latency_json(latency(options, result.outcome), result.counters);
  json["rate"] = options.rate;
  json["n_iterations"] = result.outcome.iterations;
  app::put_processor(json, result.processor, messages_of(options, result.outcome));
  json["checked"] = result.outcome.checked;
  json["interrupted"] = result.interrupted;
  return app::write_json(app::report_json(info, {json}), options.json);
}

}  // namespace uroce::pingpong
