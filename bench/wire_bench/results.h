// What the wire bench has measured, as a table and as JSON.
// All functions are pure. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace uroce::wire_bench {

/// One figure: what a round gave goes to the end of each list.
struct Figure {
  std::string_view id;  ///< "W64"
  std::string what;
  std::string_view unit;
  std::vector<double> raw;
  std::vector<double> uroce;

  /// uroce over raw, round by round, without the void rounds: those whose raw figure is 0, since
  /// something else had the CPUs.
  std::vector<double> ratios() const;
};

struct Results {
  std::string wire;  ///< what was measured on, in words
  std::vector<Figure> figures;
  std::vector<double> lost[2];  ///< shares of time that the CPUs of a and b were not there
  uint64_t retransmitted = 0;   ///< packets, both ends
  uint64_t odd_frames = 0;      ///< bare frames lost or of a wrong length
};

/// Of an even number the mean of the middle two; 0 of none.
double median(std::vector<double> values);

/// Lines for people, the last without its newline.
std::string table(const Results& results);

/// {"wire":, "results": [{id, what, unit, raw, uroce, ratio_raw, rounds, spread}], "lost_time":
/// ...}. raw, uroce and ratio_raw are medians over the rounds, spread is the least and the greatest
/// ratio.
nlohmann::ordered_json json_of(const Results& results);

}  // namespace uroce::wire_bench
