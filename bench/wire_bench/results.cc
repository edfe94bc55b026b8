// Medians over rounds, and their text.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire_bench/results.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace uroce::wire_bench {
namespace {

constexpr std::array<char, 2> kEnds{'a', 'b'};
constexpr double kMostLost = 0.5;

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

std::string_view verdict(const Figure& f) {
  const auto pass = f.pass();
  return !pass ? "" : *pass ? "yes" : "no";
}

template <class T>
nlohmann::ordered_json or_null(bool there, const T& value) {
  return there ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::string_view name_of(Way way) {
  return way == Way::raw ? "raw" : way == Way::limit ? "limit" : "uroce";
}

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<double> Figure::ratios(Way way) const {
  const std::vector<double>& base = of(way);
  const std::vector<double>& own = of(Way::uroce);
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(base.size(), own.size()); ++i) {
    if (base[i] > 0) {
      ratios.push_back(own[i] / base[i]);
    }
  }
  return ratios;
}

std::optional<bool> Figure::pass() const {
  if (goal.id.empty() || of(Way::uroce).empty() ||
      std::max(median(lost[0]), median(lost[1])) > kMostLost) {
    return std::nullopt;
  }
  const auto reaches = [this](double reached, double wanted) {
    return wanted == 0 || (less_is_better() ? reached <= wanted : reached >= wanted);
  };
  return reaches(median(of(Way::uroce)), goal.value) &&
         reaches(median(ratios(Way::raw)), goal.ratio_raw) &&
         reaches(median(ratios(Way::limit)), goal.ratio_limit);
}

std::string table(const Results& results) {
  std::string text = fmt::format("{}\n\n", results.wire);
  text += fmt::format("{:<6}{:<10}{:<38}{:<8}{:>8}{:>8}{:>8}{:>8}{:>8}  {:<16}{:>11}  {}\n", "id",
                      "figure", "what", "unit", "raw", "limit", "uroce", "/raw", "/limit",
                      "/raw min..max", "lost a b %", "pass");
  size_t rounds = 0;
  for (const Figure& f : results.figures) {
    const auto ratios = f.ratios(Way::raw);
    const Range spread = range(ratios);
    rounds = std::max(rounds, ratios.size());
    text += fmt::format(
        "{:<6}{:<10}{:<38}{:<8}{:>8.2f}{:>8.2f}{:>8.2f}{:>8.3f}{:>8.3f}  {:<16}{:>5.1f} {:>5.1f}  "
        "{}\n",
        f.goal.id, f.name, f.what, f.unit, median(f.of(Way::raw)), median(f.of(Way::limit)),
        median(f.of(Way::uroce)), median(ratios), median(f.ratios(Way::limit)),
        fmt::format("{:.3f}..{:.3f}", spread.low, spread.high), 100 * median(f.lost[0]),
        100 * median(f.lost[1]), verdict(f));
  }
  text += fmt::format(
      "\nmedians of {} rounds; lost: time in gaps over 1 us just before\n"
      "packets that uroce sent again: {}; bare frames lost or wrong: {}",
      rounds, results.retransmitted, results.odd_frames);
  return text;
}

nlohmann::ordered_json json_of(const Results& results) {
  nlohmann::ordered_json json;
  json["wire"] = results.wire;
  json["results"] = nlohmann::ordered_json::array();
  for (const Figure& f : results.figures) {
    const auto ratios = f.ratios(Way::raw);
    const Range spread = range(ratios);
    const auto pass = f.pass();
    nlohmann::ordered_json one{{"id", or_null(!f.goal.id.empty(), f.goal.id)},
                               {"figure", f.name},
                               {"what", f.what},
                               {"unit", f.unit}};
    for (const Way way : kWays) {
      one[std::string(name_of(way))] = median(f.of(way));
    }
    one["ratio_raw"] = median(ratios);
    one["ratio_limit"] = median(f.ratios(Way::limit));
    one["rounds"] = ratios.size();
    one["spread"] = {spread.low, spread.high};
    for (size_t i = 0; i < kEnds.size(); ++i) {
      one["lost_time"][std::string(1, kEnds[i])] = median(f.lost[i]);
    }
    one["pass"] = or_null(pass.has_value(), pass.value_or(false));
    json["results"].push_back(std::move(one));
  }
  json["retransmitted"] = results.retransmitted;
  json["odd_frames"] = results.odd_frames;
  return json;
}

app::Plot plot_of(const Results& results) {
  app::Plot plot{.title = "uroce and the bare wire, round by round",
                 .x_label = "round",
                 .y_label = "uroce over the bare wire",
                 .rounds = true,
                 .curves = {}};
  for (const Figure& f : results.figures) {
    app::Curve curve{f.what, {}};
    const auto ratios = f.ratios(Way::raw);
    for (size_t i = 0; i < ratios.size(); ++i) {
      curve.points.emplace_back(static_cast<double>(i + 1), ratios[i]);
    }
    if (!curve.points.empty()) {
      plot.curves.push_back(std::move(curve));
    }
  }
  return plot;
}

}  // namespace uroce::wire_bench
