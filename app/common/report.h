// The programs' figures as text and as JSON. Headers, columns, units and keys are those of perftest
// and ibverbs-utils: MiB = 2^20 bytes, Gb = 10^9 bit, Mpps = 10^6 messages a second, usec.
// All functions are pure; lines come without the newline.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/histogram.h"
#include "common/processor_counts.h"
#include "roce/config.h"

namespace uroce::app {

/// Names and values of counters to show beside a result, like retransmits and drops by reason.
using Counters = std::vector<std::pair<std::string, uint64_t>>;

/// A rate of messages of one size.
struct BandwidthResult {
  uint64_t size = 0;        ///< bytes of a message
  uint64_t iterations = 0;  ///< messages
  double peak_seconds = 0;  ///< shortest time from a post to its completion; 0: not measured
  double seconds = 0;       ///< of all messages
  double confidence = 0;    ///< half of the 95 % interval of the rate, messages a second; 0: none

  double bytes_per_second() const;
  double peak_bytes_per_second() const;
  double messages_per_second() const;
};

/// Times of one size, in microseconds.
struct LatencyResult {
  uint64_t size = 0;
  uint64_t iterations = 0;
  double min = 0;
  double max = 0;
  double typical = 0;  ///< median
  double mean = 0;
  double stdev = 0;
  double p90 = 0;
  double p99 = 0;
  double p999 = 0;
  double p9999 = 0;
  double p99999 = 0;
  double seconds = 0;  ///< length of the run
};

/// From recorded times in nanoseconds. `divisor` is 2 where a recorded time is a round trip and the
/// reported one goes one way (SEND and WRITE), else 1.
LatencyResult latency_result(uint64_t size, const Histogram& times, double seconds, int divisor);

/// Half of the 95 % confidence interval of the mean, where times do not depend on each other.
double confidence_of_mean(const LatencyResult& result);

enum class BandwidthUnit : uint8_t { mib, gbit };

double in_unit(double bytes_per_second, BandwidthUnit unit);

std::string bandwidth_header(BandwidthUnit unit);
std::string bandwidth_row(const BandwidthResult& result, BandwidthUnit unit);
/// "  1.00 MiB/s = 0.01 Gb/s, 16 messages/s, in 1.00 s": all units at once.
std::string bandwidth_summary(const BandwidthResult& result);

std::string latency_header();
std::string latency_row(const LatencyResult& result);
/// For runs of a given duration: mean and transactions a second only.
std::string latency_duration_header();
std::string latency_duration_row(const LatencyResult& result);
/// "  p50 1.20 usec, p90 ..., max ...".
std::string percentiles_line(const LatencyResult& result);

/// "  retransmits 3, drops 0".
std::string counters_line(const Counters& counters);

/// "  811 cycles and 2044 instructions a message at this end, in user space"; without counters,
/// that there are none.
std::string processor_line(const std::optional<ProcessorCounts::Spent>& spent, uint64_t messages);

/// "   2.0 s: 1200 of 5000 (24 %), 1830.55 MiB/s"; without a total: "2.0 s: 1200, ...".
std::string progress_line(double seconds, uint64_t done, std::optional<uint64_t> total,
                          double bytes_per_second);

/// ibverbs-utils' pingpong.
struct PingpongAddress {
  uint16_t lid = 0;
  uint32_t qpn = 0;
  uint32_t psn = 0;
  roce::Gid gid;
};
std::string local_address_line(const PingpongAddress& address);
std::string remote_address_line(const PingpongAddress& address);
/// "8192000 bytes in 0.01 seconds = 6553.60 Mbit/sec"; all bytes of both directions.
std::string pingpong_bytes_line(uint64_t size, uint64_t iterations, double seconds);
/// "1000 iters in 0.01 seconds = 10.00 usec/iter"; a round trip is one.
std::string pingpong_iterations_line(uint64_t iterations, double seconds);

/// A GID as ibverbs-utils print it: the IPv6 form always ("::ffff:192.0.2.1").
std::string gid_text(const roce::Gid& gid);

/// perftest's test_info. Negative numbers are left out.
struct TestInfo {
  std::string test;  ///< "RDMA_Write BW"
  std::string device;
  std::string connection_type;  ///< "RC"
  int64_t qps = 1;
  int64_t tx_depth = -1;
  int64_t rx_depth = -1;
  int64_t cq_moderation = -1;
  int64_t mtu = -1;
  int64_t gid_index = -1;
  int64_t inline_size = -1;
  int64_t outstanding_reads = -1;
};

nlohmann::ordered_json test_info_json(const TestInfo& info);
/// perftest's keys, then bytes_per_second, messages_per_second, seconds and the counters.
nlohmann::ordered_json bandwidth_json(const BandwidthResult& result, BandwidthUnit unit,
                                      const Counters& counters);
nlohmann::ordered_json latency_json(const LatencyResult& result, const Counters& counters);
/// Adds cycles_per_message and instructions_per_message, null where nothing counts them.
void put_processor(nlohmann::ordered_json& json, const std::optional<ProcessorCounts::Spent>& spent,
                   uint64_t messages);
/// Of docs/result.schema.json; a change that breaks a reader raises it.
inline constexpr int kSchemaVersion = 1;

/// {"schema_version": ..., "test_info": ..., "results": ...}: the result itself when there is one,
/// else an array.
nlohmann::ordered_json report_json(const TestInfo& info,
                                   const std::vector<nlohmann::ordered_json>& results);

/// Writes `json` to `file`, to stdout for "" or "-".
roce::Status write_json(const nlohmann::ordered_json& json, const std::string& file);

}  // namespace uroce::app
