// Medians over rounds, and their text.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire_bench/results.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace uroce::wire_bench {
namespace {

constexpr std::array<char, 2> kEnds{'a', 'b'};

struct Range {
  double low = 0;
  double high = 0;
};

Range range(const std::vector<double>& values) {
  if (values.empty()) {
    return {};
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high};
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<double> Figure::ratios() const {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(raw.size(), uroce.size()); ++i) {
    if (raw[i] > 0) {
      ratios.push_back(uroce[i] / raw[i]);
    }
  }
  return ratios;
}

std::string table(const Results& results) {
  std::string text = fmt::format("{}\n\n", results.wire);
  text += fmt::format("{:<7}{:<42}{:<10}{:>9}{:>9}{:>9}   {}\n", "id", "what", "unit", "raw",
                      "uroce", "ratio", "min..max (rounds)");
  for (const Figure& f : results.figures) {
    const auto ratios = f.ratios();
    const Range spread = range(ratios);
    text += fmt::format("{:<7}{:<42}{:<10}{:>9.2f}{:>9.2f}{:>9.3f}   {:.3f}..{:.3f} ({})\n", f.id,
                        f.what, f.unit, median(f.raw), median(f.uroce), median(ratios), spread.low,
                        spread.high, ratios.size());
  }
  text += "\ntime lost in gaps over 1 us before each round:";
  for (size_t i = 0; i < kEnds.size(); ++i) {
    const Range lost = range(results.lost[i]);
    text += fmt::format("{} {} {:.1f} % ({:.1f}..{:.1f})", i == 0 ? "" : ",", kEnds[i],
                        100 * median(results.lost[i]), 100 * lost.low, 100 * lost.high);
  }
  text +=
      fmt::format("\npackets that uroce sent again: {}; bare frames lost or of a wrong length: {}",
                  results.retransmitted, results.odd_frames);
  return text;
}

nlohmann::ordered_json json_of(const Results& results) {
  nlohmann::ordered_json json;
  json["wire"] = results.wire;
  json["results"] = nlohmann::ordered_json::array();
  for (const Figure& f : results.figures) {
    const auto ratios = f.ratios();
    const Range spread = range(ratios);
    json["results"].push_back({{"id", f.id},
                               {"what", f.what},
                               {"unit", f.unit},
                               {"raw", median(f.raw)},
                               {"uroce", median(f.uroce)},
                               {"ratio_raw", median(ratios)},
                               {"rounds", ratios.size()},
                               {"spread", {spread.low, spread.high}}});
  }
  for (size_t i = 0; i < kEnds.size(); ++i) {
    json["lost_time"][std::string(1, kEnds[i])] = median(results.lost[i]);
  }
  json["retransmitted"] = results.retransmitted;
  json["odd_frames"] = results.odd_frames;
  return json;
}

}  // namespace uroce::wire_bench
