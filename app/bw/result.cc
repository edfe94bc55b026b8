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

void print_result(const Options& options, const RunResult& result) {
  if (result.measured) {
    fmt::print("{}\n{}\n", app::bandwidth_row(result.bandwidth, options.unit),
               app::bandwidth_summary(result.bandwidth));
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

roce::Status write_result(const Options& options, const Plan& plan, const RunResult& result) {
  auto json = app::bandwidth_json(result.bandwidth, options.unit, result.counters);
  json["interrupted"] = result.interrupted;
  json["lost_messages"] = result.findings.lost;
  if (options.validate) {
    json["checked_messages"] = result.findings.checked;
    json["wrong_messages"] = result.findings.wrong;
  }
  return app::write_json(app::report_json(test_info(options, plan), {json}), options.json);
}

}  // namespace uroce::bw
