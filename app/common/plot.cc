// From points to gnuplot's language.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/plot.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

namespace uroce::app {
namespace {

constexpr std::array kPercents = {1.0,  5.0,  10.0, 20.0, 30.0, 40.0, 50.0,  60.0,  70.0,
                                  80.0, 90.0, 95.0, 98.0, 99.0, 99.9, 99.99, 99.999};
constexpr int kNotFound = 127;  // the shell's exit code

/// Text for gnuplot between double quotes.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  }
  return out + "\"";
}

/// So few that gnuplot would number what lies between them.
bool few_rounds(const Plot& plot) {
  return std::all_of(plot.curves.begin(), plot.curves.end(),
                     [](const Curve& curve) { return curve.points.size() <= 12; });
}

}  // namespace

Curve percentile_curve(const std::string& name, const Histogram& times, int divisor) {
  Curve curve{name, {}};
  for (const double percent : kPercents) {
    curve.points.emplace_back(percent,
                              static_cast<double>(times.percentile(percent)) / 1000.0 / divisor);
  }
  return curve;
}

std::string gnuplot_script(const Plot& plot, const std::string& file) {
  const bool png = file.ends_with(".png");
  std::string script = fmt::format(
      "set terminal {} size {},500\nset output {}\nset title {} noenhanced\n"
      "set xlabel {}\nset ylabel {}\nset grid\nset key top left noenhanced\nset yrange [0:*]\n",
      png ? "pngcairo" : "svg background 'white'", plot.rounds ? 1100 : 800, quoted(file),
      quoted(plot.title), quoted(plot.x_label), quoted(plot.y_label));
  if (plot.sizes) {
    script += "set logscale x 2\nset format x '%.0b%B'\n";
  }
  if (plot.nines) {
    // Distance to 100 % on a logarithmic axis from right to left.
    script +=
        "set logscale x 10\nset xrange [100:0.0005] reverse\n"
        "set xtics ('0 %%' 100, '50 %%' 50, '90 %%' 10, '99 %%' 1, '99.9 %%' 0.1, "
        "'99.99 %%' 0.01, '99.999 %%' 0.001)\n";  // labels are formats
  }
  if (plot.rounds) {
    script += "set key outside right top samplen 2\n";
    script += few_rounds(plot) ? "set xtics 1\n" : "set format x '%.0f'\n";
  }
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    script += fmt::format("$data{} << EOD\n", i);
    for (const auto& [x, y] : plot.curves[i].points) {
      script += fmt::format("{:.6g} {:.6g}\n", plot.nines ? 100 - x : x, y);
    }
    script += "EOD\n";
  }
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    script += fmt::format("{}$data{} using 1:2 with linespoints pointtype 7 pointsize 0.4 title {}",
                          i == 0 ? "plot " : ", ", i, quoted(plot.curves[i].name));
  }
  return script + "\n";
}

roce::Status draw(const Plot& plot, const std::string& file) {
  if (!file.ends_with(".svg") && !file.ends_with(".png")) {
    return roce::failure(
        EINVAL, fmt::format("--plot {}: the name must end in .svg or .png; choose one", file));
  }
  std::FILE* const gnuplot = ::popen("gnuplot 2>/dev/null", "w");  // NOLINT(cert-env33-c)
  if (gnuplot == nullptr) {
    return roce::failure(errno, "gnuplot cannot be started; run it later on the result of --json");
  }
  const std::string script = gnuplot_script(plot, file);
  std::fwrite(script.data(), 1, script.size(), gnuplot);
  const int status = ::pclose(gnuplot);
  if (status == 0) {
    return {};
  }
  if (status >> 8 == kNotFound) {
    return roce::failure(ENOENT, fmt::format("--plot {}: there is no gnuplot; install the package "
                                             "gnuplot-nox, or leave out --plot",
                                             file));
  }
  return roce::failure(EIO, fmt::format("--plot {}: gnuplot could not draw it; may the file be "
                                        "written?",
                                        file));
}

}  // namespace uroce::app
