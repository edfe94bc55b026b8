// Lines and JSON of the programs' figures, on fixed results.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/report.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "endpoint/temp_dir.h"

namespace uroce::app {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> found;
  for (std::string word; stream >> word;) {
    found.push_back(word);
  }
  return found;
}

// 1 MiB messages, 1000 in 0.5 s, the fastest in 0.4 ms.
constexpr BandwidthResult kBandwidth{
    .size = 1048576, .iterations = 1000, .peak_seconds = 0.0004, .seconds = 0.5};

LatencyResult latency() {
  Histogram times;  // round trips of 2, 4, ... 2000 us
  for (uint64_t i = 1; i <= 1000; ++i) {
    times.record(i * 2000);
  }
  return latency_result(2, times, 1.0, 2);
}

TEST(Report, bandwidth_header_is_perftests) {
  EXPECT_EQ(bandwidth_header(BandwidthUnit::mib),
            " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]");
  EXPECT_EQ(bandwidth_header(BandwidthUnit::gbit),
            " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]");
}

TEST(Report, bandwidth_row_has_its_values_below_their_titles) {
  const std::string row = bandwidth_row(kBandwidth, BandwidthUnit::mib);
  EXPECT_EQ(row, " 1048576    1000           2500.00             2000.00               0.002000");
  const std::string header = bandwidth_header(BandwidthUnit::mib);
  EXPECT_EQ(row.find("2500.00"), header.find("BW peak"));
  EXPECT_EQ(row.find("0.002000"), header.find("MsgRate"));
}

TEST(Report, gigabits_are_powers_of_ten_and_mebibytes_of_two) {
  EXPECT_EQ(words(bandwidth_row(kBandwidth, BandwidthUnit::gbit)),
            (std::vector<std::string>{"1048576", "1000", "20.97", "16.78", "0.002000"}));
  EXPECT_EQ(bandwidth_summary(kBandwidth),
            "  2000.00 MiB/s = 16.78 Gb/s, 2000 messages/s, in 0.50 s");
}

TEST(Report, unmeasured_figures_are_zero_and_not_infinite) {
  const BandwidthResult nothing{.size = 64, .iterations = 0, .peak_seconds = 0, .seconds = 0};
  EXPECT_EQ(words(bandwidth_row(nothing, BandwidthUnit::mib)),
            (std::vector<std::string>{"64", "0", "0.00", "0.00", "0.000000"}));
}

TEST(Report, values_wider_than_their_columns_stay_apart) {
  const BandwidthResult wide{.size = 123456789012345,
                             .iterations = 12345678901234567,
                             .peak_seconds = 1e-9,
                             .seconds = 1e-3};
  EXPECT_EQ(words(bandwidth_row(wide, BandwidthUnit::mib)).size(), 5U);
}

TEST(Report, latency_header_is_perftests) {
  EXPECT_EQ(latency_header(),
            " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
            "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] ");
  EXPECT_EQ(latency_duration_header(),
            " #bytes        #iterations       t_avg[usec]    tps average");
}

TEST(Report, latency_of_round_trips_is_halved) {
  const LatencyResult result = latency();
  EXPECT_EQ(result.iterations, 1000U);
  EXPECT_DOUBLE_EQ(result.min, 1.0);
  EXPECT_DOUBLE_EQ(result.max, 1000.0);
  EXPECT_NEAR(result.typical, 500.0, 0.5);
  EXPECT_NEAR(result.mean, 500.5, 1e-9);
  EXPECT_NEAR(result.stdev, 288.8194, 1e-3);
  EXPECT_NEAR(result.p99, 990.0, 1.0);
  EXPECT_NEAR(result.p999, 999.0, 1.0);
}

TEST(Report, latency_row_has_its_values_below_their_titles) {
  const LatencyResult result{.size = 2,
                             .iterations = 1000,
                             .min = 1.02,
                             .max = 9.5,
                             .typical = 1.1,
                             .mean = 1.25,
                             .stdev = 0.04,
                             .p90 = 1.3,
                             .p99 = 2.5,
                             .p999 = 9.49,
                             .p9999 = 9.494,
                             .p99999 = 9.499,
                             .seconds = 0.0025};
  const std::string row = latency_row(result);
  EXPECT_EQ(words(row), (std::vector<std::string>{"2", "1000", "1.02", "9.50", "1.10", "1.25",
                                                  "0.04", "2.50", "9.49"}));
  EXPECT_EQ(row.find("9.50"), latency_header().find("t_max"));
  EXPECT_EQ(row.find("9.49"), latency_header().find("99.9%"));
  EXPECT_EQ(words(latency_duration_row(result)),
            (std::vector<std::string>{"2", "1000", "1.25", "400000.00"}));
  EXPECT_EQ(percentiles_line(result),
            "  p50 1.10 usec, p90 1.30 usec, p99 2.50 usec, p99.9 9.49 usec, p99.99 9.49 usec, "
            "p99.999 9.50 usec, max 9.50 usec");
  EXPECT_NEAR(confidence_of_mean(result), 1.96 * 0.04 / std::sqrt(1000.0), 1e-12);
}

TEST(Report, pingpong_lines_are_those_of_ibverbs_utils) {
  const auto gid = roce::parse_gid("192.0.2.1");
  ASSERT_TRUE(gid);
  const PingpongAddress address{.lid = 0, .qpn = 0x2a, .psn = 0xabcdef, .gid = *gid};
  EXPECT_EQ(local_address_line(address),
            "  local address:  LID 0x0000, QPN 0x00002a, PSN 0xabcdef, GID ::ffff:192.0.2.1");
  EXPECT_EQ(remote_address_line(address),
            "  remote address: LID 0x0000, QPN 0x00002a, PSN 0xabcdef, GID ::ffff:192.0.2.1");
  EXPECT_EQ(pingpong_bytes_line(4096, 1000, 0.01),
            "8192000 bytes in 0.01 seconds = 6553.60 Mbit/sec");
  EXPECT_EQ(pingpong_iterations_line(1000, 0.01), "1000 iters in 0.01 seconds = 10.00 usec/iter");
}

TEST(Report, counters_and_progress_are_one_line_each) {
  EXPECT_EQ(counters_line({{"retransmits", 3}, {"drops", 0}}), "  retransmits 3, drops 0");
  EXPECT_EQ(counters_line({}), "");
  EXPECT_EQ(progress_line(2.0, 1200, 5000, 1048576.0 * 1830.5),
            "   2.0 s: 1200 of 5000 (24 %), 1830.50 MiB/s");
  EXPECT_EQ(progress_line(2.0, 1200, std::nullopt, 0), "   2.0 s: 1200, 0.00 MiB/s");
}

TEST(Report, json_has_perftests_keys) {
  const auto bandwidth = bandwidth_json(kBandwidth, BandwidthUnit::mib, {{"retransmits", 3}});
  EXPECT_EQ(bandwidth["MsgSize"], 1048576);
  EXPECT_EQ(bandwidth["n_iterations"], 1000);
  EXPECT_DOUBLE_EQ(bandwidth["BW_peak"].get<double>(), 2500.0);
  EXPECT_DOUBLE_EQ(bandwidth["BW_average"].get<double>(), 2000.0);
  EXPECT_DOUBLE_EQ(bandwidth["MsgRate"].get<double>(), 0.002);
  EXPECT_EQ(bandwidth["counters"]["retransmits"], 3);
  const auto times = latency_json(latency(), {});
  for (const char* key : {"MsgSize", "n_iterations", "t_min", "t_max", "t_typical", "t_avg",
                          "t_stdev", "percentile_99", "percentile_99.9"}) {
    EXPECT_TRUE(times.contains(key)) << key;
  }
}

TEST(Report, cycles_and_instructions_are_by_message_or_not_there) {
  const ProcessorCounts::Spent spent{.cycles = 8000, .instructions = 21000};
  EXPECT_EQ(processor_line(spent, 10),
            "  800 cycles and 2100 instructions a message at this end, in user space");
  EXPECT_NE(processor_line(std::nullopt, 10).find("cannot be read"), std::string::npos);
  EXPECT_NE(processor_line(spent, 0).find("cannot be read"), std::string::npos);
  nlohmann::ordered_json json;
  put_processor(json, spent, 10);
  EXPECT_DOUBLE_EQ(json["cycles_per_message"].get<double>(), 800);
  EXPECT_DOUBLE_EQ(json["instructions_per_message"].get<double>(), 2100);
  put_processor(json, std::nullopt, 10);
  EXPECT_TRUE(json["cycles_per_message"].is_null());
  EXPECT_TRUE(json["instructions_per_message"].is_null());
}

TEST(Report, json_report_holds_one_result_or_a_list) {
  TestInfo info;
  info.test = "RDMA_Write BW";
  info.device = "uroce0";
  info.connection_type = "RC";
  info.mtu = 4096;
  const auto result = bandwidth_json(kBandwidth, BandwidthUnit::mib, {});
  const auto one = report_json(info, {result});
  EXPECT_EQ(one["schema_version"], kSchemaVersion);
  EXPECT_EQ(one["test_info"]["test"], "RDMA_Write BW");
  EXPECT_EQ(one["test_info"]["Mtu"], 4096);
  EXPECT_FALSE(one["test_info"].contains("TX_depth"));
  EXPECT_EQ(one["results"]["MsgSize"], 1048576);
  const auto two = report_json(info, {result, result});
  EXPECT_EQ(two["results"].size(), 2U);
  EXPECT_EQ(two["results"][1]["MsgSize"], 1048576);
}

TEST(Report, json_is_written_to_a_file_or_the_failure_named) {
  const roce::test::TempDir folder;
  const nlohmann::ordered_json json = {{"a", 1}};
  ASSERT_TRUE(write_json(json, folder.path("out.json")));
  std::ostringstream text;
  text << std::ifstream(folder.path("out.json")).rdbuf();
  EXPECT_EQ(text.str(), "{\n  \"a\": 1\n}\n");
  const auto refused = write_json(json, folder.path("no/out.json"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ENOENT);
  EXPECT_THAT(refused.error().reason, HasSubstr("no/out.json"));
}

}  // namespace
}  // namespace uroce::app
