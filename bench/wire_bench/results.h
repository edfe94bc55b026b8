// What the wire bench has measured, as a table and as JSON.
// All functions are pure. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/plot.h"

namespace uroce::wire_bench {

/// Who moves the bytes.
enum class Way : uint8_t {
  raw,    ///< bare loops over the port, which touch each line of a frame
  limit,  ///< the same, which copy and check each payload, as no endpoint can avoid
  uroce,
};
inline constexpr std::array<Way, 3> kWays{Way::raw, Way::limit, Way::uroce};

std::string_view name_of(Way way);

/// What a figure has to reach, of which 0 asks for nothing. Of times it is at most this, else at
/// least.
struct Goal {
  std::string_view id;  ///< "P2"; empty: none on this wire
  double value = 0;
  double ratio_raw = 0;
  double ratio_limit = 0;
};

/// One figure: what a round gave goes to the end of each list.
struct Figure {
  std::string_view name;  ///< "W64"
  std::string what;
  std::string_view unit;
  Goal goal;
  std::array<std::vector<double>, kWays.size()> values{};  ///< by Way
  std::array<std::vector<double>, 2> lost{};  ///< shares of time that the CPUs were not there

  const std::vector<double>& of(Way way) const { return values[static_cast<size_t>(way)]; }
  std::vector<double>& of(Way way) { return values[static_cast<size_t>(way)]; }
  /// True for a time.
  bool less_is_better() const { return unit == "us"; }
  /// uroce over `way`, round by round, without the void rounds: those whose figure is 0, since
  /// something else had the CPUs.
  std::vector<double> ratios(Way way) const;
  /// Whether the medians reach the goal; none without a goal or a round, or when a CPU was away for
  /// more than half of the time, since then the figures are not the program's.
  std::optional<bool> pass() const;
};

struct Results {
  std::string wire;  ///< what was measured on, in words
  std::vector<Figure> figures;
  uint64_t retransmitted = 0;  ///< packets, both ends
  uint64_t odd_frames = 0;     ///< bare frames lost, of a wrong length or with a wrong ICRC
};

/// Of an even number the mean of the middle two; 0 of none.
double median(std::vector<double> values);

/// Lines for people, the last without its newline.
std::string table(const Results& results);

/// {"wire":, "results": [{id, figure, what, unit, raw, limit, uroce, ratio_raw, ratio_limit,
/// rounds, spread, lost_time, pass}], ...}. All are medians over the rounds but spread, the least
/// and the greatest ratio_raw. id and pass are null where there is no goal.
nlohmann::ordered_json json_of(const Results& results);

/// ratio_raw of each figure over the rounds, without the void ones.
app::Plot plot_of(const Results& results);

}  // namespace uroce::wire_bench
