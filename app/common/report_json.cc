// The JSON form of the figures, under perftest's keys.
// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/report.h"

namespace uroce::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMib = 1024.0 * 1024.0;
constexpr double kGbit = 1e9 / 8;

void put_number(Json& json, const char* key, int64_t value) {
  if (value >= 0) {
    json[key] = value;
  }
}

void put_counters(Json& json, const Counters& counters) {
  json["counters"] = Json::object();
  for (const auto& [name, value] : counters) {
    json["counters"][name] = value;
  }
}

}  // namespace

Json test_info_json(const TestInfo& info) {
  Json json;
  json["test"] = info.test;
  json["Device"] = info.device;
  json["Number_of_qps"] = info.qps;
  json["Transport_type"] = "RoCEv2";
  json["Connection_type"] = info.connection_type;
  put_number(json, "TX_depth", info.tx_depth);
  put_number(json, "RX_depth", info.rx_depth);
  put_number(json, "CQ_Moderation", info.cq_moderation);
  put_number(json, "Mtu", info.mtu);
  json["Link_type"] = "Ethernet";
  put_number(json, "GID_index", info.gid_index);
  put_number(json, "Max_inline_data", info.inline_size);
  put_number(json, "Outstand_reads", info.outstanding_reads);
  json["Data_ex_method"] = "Ethernet";
  return json;
}

Json bandwidth_json(const BandwidthResult& result, BandwidthUnit unit, const Counters& counters) {
  const double scale = unit == BandwidthUnit::mib ? kMib : kGbit;
  Json json;
  json["MsgSize"] = result.size;
  json["n_iterations"] = result.iterations;
  json["BW_peak"] = result.peak_bytes_per_second() / scale;
  json["BW_average"] = result.bytes_per_second() / scale;
  json["MsgRate"] = result.messages_per_second() / 1e6;
  json["MsgRate_ci95"] = result.confidence / 1e6;
  json["bytes_per_second"] = result.bytes_per_second();
  json["messages_per_second"] = result.messages_per_second();
  json["seconds"] = result.seconds;
  put_counters(json, counters);
  return json;
}

Json latency_json(const LatencyResult& result, const Counters& counters) {
  Json json;
  json["MsgSize"] = result.size;
  json["n_iterations"] = result.iterations;
  json["t_min"] = result.min;
  json["t_max"] = result.max;
  json["t_typical"] = result.typical;
  json["t_avg"] = result.mean;
  json["t_stdev"] = result.stdev;
  json["percentile_50"] = result.typical;
  json["percentile_90"] = result.p90;
  json["percentile_99"] = result.p99;
  json["percentile_99.9"] = result.p999;
  json["percentile_99.99"] = result.p9999;
  json["percentile_99.999"] = result.p99999;
  json["t_avg_ci95"] = confidence_of_mean(result);
  json["seconds"] = result.seconds;
  put_counters(json, counters);
  return json;
}

void put_processor(Json& json, const std::optional<ProcessorCounts::Spent>& spent,
                   uint64_t messages) {
  const bool known = spent.has_value() && messages > 0;
  const auto each = [&](double all) {
    return known ? Json(all / static_cast<double>(messages)) : Json(nullptr);
  };
  json["cycles_per_message"] = each(known ? spent->cycles : 0);
  json["instructions_per_message"] = each(known ? spent->instructions : 0);
}

Json report_json(const TestInfo& info, const std::vector<Json>& results) {
  Json json;
  json["schema_version"] = kSchemaVersion;
  json["test_info"] = test_info_json(info);
  json["results"] = results.size() == 1 ? results.front() : Json(results);
  return json;
}

roce::Status write_json(const Json& json, const std::string& file) {
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (file.empty() || file == "-") {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
    return {};
  }
  errno = 0;
  std::ofstream stream(file);
  stream << text << std::flush;
  if (!stream) {
    const int code = errno == 0 ? EIO : errno;
    return roce::failure(code, fmt::format("cannot write {}: {}; name another file by --json", file,
                                           std::generic_category().message(code)));
  }
  return {};
}

}  // namespace uroce::app
