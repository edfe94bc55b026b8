// Pictures of results, drawn by gnuplot. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/histogram.h"
#include "roce/config.h"

namespace uroce::app {

struct Curve {
  std::string name;  ///< in the legend
  std::vector<std::pair<double, double>> points;
};

struct Plot {
  std::string title;
  std::string x_label;  ///< with the unit
  std::string y_label;
  bool sizes = false;   ///< x is bytes: powers of two
  bool nines = false;   ///< x is a percentile: room for the high ones
  bool rounds = false;  ///< x counts something; there may be many curves
  std::vector<Curve> curves;
};

/// The percentiles of `times` as a curve, in microseconds; each recorded time is `divisor` of them.
Curve percentile_curve(const std::string& name, const Histogram& times, int divisor);

/// gnuplot's commands and data. Pure.
std::string gnuplot_script(const Plot& plot, const std::string& file);

/// Draws into `file`, a *.svg or *.png. EINVAL: another ending; ENOENT: there is no gnuplot; EIO:
/// it failed.
roce::Status draw(const Plot& plot, const std::string& file);

}  // namespace uroce::app
