// Lines of text. A value stands below the beginning of its column's title.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/report.h"

#include <cmath>

#include <fmt/format.h>

namespace uroce::app {
namespace {

constexpr double kMib = 1024.0 * 1024.0;
constexpr double kGbit = 1e9 / 8;
constexpr double kMega = 1e6;

constexpr std::string_view kLatencyHeader =
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
    "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] ";
constexpr std::string_view kDurationHeader =
    " #bytes        #iterations       t_avg[usec]    tps average";

struct Cell {
  std::string_view title;
  std::string value;
};

std::string row_below(std::string_view header, const std::vector<Cell>& cells) {
  std::string row;
  for (const Cell& cell : cells) {
    const size_t column = header.find(cell.title);
    // A value wider than its column moves the next one on; a space always parts them.
    row.resize(std::max(column, row.empty() ? size_t{0} : row.size() + 1), ' ');
    row += cell.value;
  }
  return row;
}

std::string number(uint64_t value) {
  return fmt::format("{}", value);
}
std::string hundredths(double value) {
  return fmt::format("{:.2f}", value);
}

double per_second(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : 0;
}

std::string address_line(std::string_view whose, const PingpongAddress& a) {
  return fmt::format("  {:<15} LID 0x{:04x}, QPN 0x{:06x}, PSN 0x{:06x}, GID {}", whose, a.lid,
                     a.qpn, a.psn, gid_text(a.gid));
}

}  // namespace

double in_unit(double bytes_per_second, BandwidthUnit unit) {
  return bytes_per_second / (unit == BandwidthUnit::mib ? kMib : kGbit);
}

double confidence_of_mean(const LatencyResult& result) {
  constexpr double kNormal = 1.96;
  return result.iterations < 2
             ? 0
             : kNormal * result.stdev / std::sqrt(static_cast<double>(result.iterations));
}

double BandwidthResult::bytes_per_second() const {
  return per_second(static_cast<double>(size) * static_cast<double>(iterations), seconds);
}

double BandwidthResult::peak_bytes_per_second() const {
  return per_second(static_cast<double>(size), peak_seconds);
}

double BandwidthResult::messages_per_second() const {
  return per_second(static_cast<double>(iterations), seconds);
}

LatencyResult latency_result(uint64_t size, const Histogram& times, double seconds, int divisor) {
  const double scale = 1.0 / (1000.0 * divisor);
  const auto at = [&](double percent) {
    return static_cast<double>(times.percentile(percent)) * scale;
  };
  return {.size = size,
          .iterations = times.count(),
          .min = at(0),
          .max = at(100),
          .typical = at(50),
          .mean = times.mean() * scale,
          .stdev = times.stdev() * scale,
          .p90 = at(90),
          .p99 = at(99),
          .p999 = at(99.9),
          .p9999 = at(99.99),
          .p99999 = at(99.999),
          .seconds = seconds};
}

std::string bandwidth_header(BandwidthUnit unit) {
  const std::string_view name = unit == BandwidthUnit::mib ? "MiB/sec" : "Gb/sec";
  return fmt::format(" #bytes     #iterations    BW peak[{0}]    BW average[{0}]   MsgRate[Mpps]",
                     name);
}

std::string bandwidth_row(const BandwidthResult& result, BandwidthUnit unit) {
  return row_below(bandwidth_header(unit),
                   {{"#bytes", number(result.size)},
                    {"#iterations", number(result.iterations)},
                    {"BW peak", hundredths(in_unit(result.peak_bytes_per_second(), unit))},
                    {"BW average", hundredths(in_unit(result.bytes_per_second(), unit))},
                    {"MsgRate", fmt::format("{:.6f}", result.messages_per_second() / kMega)}});
}

std::string bandwidth_summary(const BandwidthResult& result) {
  return fmt::format("  {:.2f} MiB/s = {:.2f} Gb/s, {:.0f} messages/s, in {:.2f} s",
                     result.bytes_per_second() / kMib, result.bytes_per_second() / kGbit,
                     result.messages_per_second(), result.seconds);
}

std::string latency_header() {
  return std::string(kLatencyHeader);
}

std::string latency_row(const LatencyResult& result) {
  return row_below(kLatencyHeader, {{"#bytes", number(result.size)},
                                    {"#iterations", number(result.iterations)},
                                    {"t_min", hundredths(result.min)},
                                    {"t_max", hundredths(result.max)},
                                    {"t_typical", hundredths(result.typical)},
                                    {"t_avg", hundredths(result.mean)},
                                    {"t_stdev", hundredths(result.stdev)},
                                    {"99% ", hundredths(result.p99)},
                                    {"99.9% ", hundredths(result.p999)}});
}

std::string latency_duration_header() {
  return std::string(kDurationHeader);
}

std::string latency_duration_row(const LatencyResult& result) {
  return row_below(
      kDurationHeader,
      {{"#bytes", number(result.size)},
       {"#iterations", number(result.iterations)},
       {"t_avg", hundredths(result.mean)},
       {"tps", hundredths(per_second(static_cast<double>(result.iterations), result.seconds))}});
}

std::string percentiles_line(const LatencyResult& result) {
  return fmt::format(
      "  p50 {:.2f} usec, p90 {:.2f} usec, p99 {:.2f} usec, p99.9 {:.2f} usec, p99.99 {:.2f} usec, "
      "p99.999 {:.2f} usec, max {:.2f} usec",
      result.typical, result.p90, result.p99, result.p999, result.p9999, result.p99999, result.max);
}

std::string counters_line(const Counters& counters) {
  std::string line;
  for (const auto& [name, value] : counters) {
    line += fmt::format("{}{} {}", line.empty() ? "  " : ", ", name, value);
  }
  return line;
}

std::string processor_line(const std::optional<ProcessorCounts::Spent>& spent, uint64_t messages) {
  if (!spent || messages == 0) {
    return "  cycles and instructions: the processor's counters cannot be read here";
  }
  const auto each = static_cast<double>(messages);
  return fmt::format("  {:.0f} cycles and {:.0f} instructions a message at this end, in user space",
                     spent->cycles / each, spent->instructions / each);
}

std::string progress_line(double seconds, uint64_t done, std::optional<uint64_t> total,
                          double bytes_per_second) {
  const std::string share =
      total && *total > 0
          ? fmt::format(" of {} ({:.0f} %)", *total,
                        100.0 * static_cast<double>(done) / static_cast<double>(*total))
          : std::string();
  return fmt::format("{:6.1f} s: {}{}, {:.2f} MiB/s", seconds, done, share,
                     bytes_per_second / kMib);
}

std::string local_address_line(const PingpongAddress& address) {
  return address_line("local address:", address);
}

std::string remote_address_line(const PingpongAddress& address) {
  return address_line("remote address:", address);
}

std::string pingpong_bytes_line(uint64_t size, uint64_t iterations, double seconds) {
  const uint64_t bytes = size * iterations * 2;
  return fmt::format("{} bytes in {:.2f} seconds = {:.2f} Mbit/sec", bytes, seconds,
                     per_second(static_cast<double>(bytes) * 8 / kMega, seconds));
}

std::string pingpong_iterations_line(uint64_t iterations, double seconds) {
  return fmt::format("{} iters in {:.2f} seconds = {:.2f} usec/iter", iterations, seconds,
                     per_second(seconds * kMega, static_cast<double>(iterations)));
}

std::string gid_text(const roce::Gid& gid) {
  return roce::text_of(gid.ipv6());
}

}  // namespace uroce::app
