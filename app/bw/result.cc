// The result as text and as JSON.
// SPDX-License-Identifier: BSD-3-Clause
#include "result.h"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/run/session.h"

namespace uroce::bw {
namespace {

constexpr std::string_view kRule =
    "---------------------------------------------------------------------------------------";

std::string_view test_name(app::Operation operation) {
  switch (operation) {
    case app::Operation::send:
      return "Send BW";
    case app::Operation::write:
      return "RDMA_Write BW";
    case app::Operation::write_imm:
      return "RDMA_Write_With_Imm BW";
    case app::Operation::read:
      return "RDMA_Read BW";
    case app::Operation::atomic_fadd:
      return "Atomic FETCH_AND_ADD BW";
    case app::Operation::atomic_cswap:
      return "Atomic CMP_AND_SWAP BW";
  }
  return {};
}

app::TestInfo test_info(const Options& options, const Plan& plan) {
  app::TestInfo info;
  info.test = test_name(options.operation);
  info.rx_depth = takes_receive(options.operation) ? int64_t{plan.recv_depth} : -1;
  info.outstanding_reads =
      fetches(options.operation) ? int64_t{options.connection.outstanding_reads} : -1;
  info.device = app::kDeviceName;
  info.connection_type = name_of(options.connection.transport);
  info.qps = options.qps;
  info.tx_depth = plan.send_depth;
  info.cq_moderation = plan.cq_moderation;
  info.mtu = options.connection.mtu;
  info.gid_index = options.connection.gid_index;
  return info;
}

}  // namespace

void print_header(const Options& options, const Plan& plan) {
  if (!options.only.empty()) {
    return;
  }
  const app::TestInfo info = test_info(options, plan);
  fmt::print("{}\n{:>24}\n", kRule, info.test + " Test");
  fmt::print(" Device         : {:<14} Connection type : {}\n", info.device, info.connection_type);
  fmt::print(" Number of qps  : {:<14} Post list       : {}\n", info.qps, plan.post_list);
  fmt::print(" TX depth       : {:<14} CQ Moderation   : {}\n", info.tx_depth, info.cq_moderation);
  if (info.rx_depth >= 0) {
    fmt::print(" RX depth       : {}\n", info.rx_depth);
  }
  fmt::print(" Mtu            : {}[B]\n", info.mtu);
  if (info.outstanding_reads >= 0) {
    fmt::print(" Outstand reads : {}\n", info.outstanding_reads);
  }
  fmt::print(" GID index      : {:<14} Data validation : {}\n", info.gid_index,
             plan.validate ? "ON" : "OFF");
  fmt::print("{}\n{}\n", kRule, app::bandwidth_header(options.unit));
  std::fflush(stdout);
}

void print_result(const Options& options, const RunResult& result, bool whole) {
  const app::BandwidthResult& bandwidth = result.bandwidth;
  if (!options.only.empty()) {
    fmt::print("{:.6f}\n", options.only == "bandwidth"
                               ? in_unit(bandwidth.bytes_per_second(), options.unit)
                               : bandwidth.messages_per_second() / 1e6);
    return;
  }
  if (result.measured) {
    fmt::print("{}\n", app::bandwidth_row(bandwidth, options.unit));
  }
  if (options.sweep && !whole && !result.interrupted) {
    std::fflush(stdout);
    return;
  }
  if (result.measured) {
    fmt::print("{}\n", app::bandwidth_summary(bandwidth));
  }
  if (bandwidth.confidence > 0) {
    fmt::print("  95 % confidence: {:.0f} messages/s more or less\n", bandwidth.confidence);
  }
  if (options.cpu_use) {
    fmt::print("  CPU use {:.0f} %\n{}\n", result.cpu_share * 100,
               app::processor_line(result.processor, bandwidth.iterations));
  }
  if (result.interrupted) {
    fmt::print("  interrupted after {} messages\n", result.bandwidth.iterations);
  }
  if (options.connection.transport != app::Transport::rc && result.measured) {
    fmt::print("  {} messages lost\n", result.findings.lost);
  }
  if (result.findings.checked > 0) {
    fmt::print("  {} messages = {} bytes checked, {} messages wrong\n", result.findings.checked,
               result.findings.checked * options.size, result.findings.wrong);
  }
  fmt::print("{}\n{}\n", app::counters_line(result.counters), kRule);
  std::fflush(stdout);
}

void leave_out_margins(RunResult& result, uint32_t margin_s) {
  Timeline line;
  for (const Timeline::Mark& mark : result.marks) {
    line.add(mark.seconds, mark.messages);
  }
  const double end = result.bandwidth.seconds - margin_s;
  if (end > margin_s) {
    result.bandwidth.iterations = static_cast<uint64_t>(line.at(end) - line.at(margin_s));
    result.bandwidth.seconds = end - margin_s;
  }
}

roce::Status write_json(const Options& options, const Plan& plan,
                        const std::vector<RunResult>& results) {
  std::vector<nlohmann::ordered_json> list;
  for (const RunResult& result : results) {
    auto json = app::bandwidth_json(result.bandwidth, options.unit, result.counters);
    json["CPU_util"] = result.cpu_share * 100;
    app::put_processor(json, result.processor, result.bandwidth.iterations);
    json["interrupted"] = result.interrupted;
    json["lost_messages"] = result.findings.lost;
    if (options.validate) {
      json["checked_messages"] = result.findings.checked;
      json["wrong_messages"] = result.findings.wrong;
    }
    list.push_back(std::move(json));
  }
  return app::write_json(app::report_json(test_info(options, plan), list), options.json);
}

app::Plot plot_of(const Options& options, const std::vector<RunResult>& results) {
  const std::string unit = options.unit == app::BandwidthUnit::mib ? "MiB/s" : "Gb/s";
  const std::string what =
      fmt::format("{} of {}, {} queue pair{}", test_name(options.operation),
                  name_of(options.connection.transport), options.qps, options.qps == 1 ? "" : "s");
  app::Curve curve{results.size() > 1 ? "average" : fmt::format("{} bytes", options.size), {}};
  if (results.size() > 1) {
    for (const RunResult& result : results) {
      curve.points.emplace_back(static_cast<double>(result.bandwidth.size),
                                in_unit(result.bandwidth.bytes_per_second(), options.unit));
    }
    return {.title = "Bandwidth over size, " + what,
            .x_label = "size of a message [bytes]",
            .y_label = fmt::format("bandwidth [{}]", unit),
            .sizes = true,
            .curves = {curve}};
  }
  const auto& marks = results.front().marks;
  const size_t step = marks.size() / 100 + 1;
  for (size_t i = step; i < marks.size(); i += step) {
    const double span = marks[i].seconds - marks[i - step].seconds;
    const auto bytes = static_cast<double>((marks[i].messages - marks[i - step].messages) *
                                           results.front().bandwidth.size);
    curve.points.emplace_back(marks[i].seconds * 1000, in_unit(bytes / span, options.unit));
  }
  return {.title = "Bandwidth over time, " + what,
          .x_label = "time [ms]",
          .y_label = fmt::format("bandwidth [{}]", unit),
          .curves = {curve}};
}

}  // namespace uroce::bw
