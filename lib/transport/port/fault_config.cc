// Reads the text form of FaultConfig.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/fault_config.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>

namespace roce {
namespace {

/// All of `text` as a T without sign, exponent or blanks, or nothing.
template <class T>
std::optional<T> number(std::string_view text) {
  // from_chars() takes "-1", "inf" and "nan" too.
  if (text.empty() || ((text.front() < '0' || text.front() > '9') && text.front() != '.')) {
    return std::nullopt;
  }
  T value{};
  const char* const end = text.data() + text.size();
  std::from_chars_result r{};
  if constexpr (std::is_floating_point_v<T>) {
    r = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  } else {
    r = std::from_chars(text.data(), end, value);
  }
  if (r.ec != std::errc{} || r.ptr != end) {
    return std::nullopt;
  }
  return value;
}

/// Cuts `suffix` off the end of `text` if it is there.
bool cut_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) {
    return false;
  }
  text.remove_suffix(suffix.size());
  return true;
}

bool read_share(std::string_view text, double& out) {
  const double unit = cut_suffix(text, "%") ? 100 : 1;
  const auto value = number<double>(text);
  if (!value || *value > unit) {
    return false;
  }
  out = *value / unit;
  return true;
}

bool read_time(std::string_view text, Duration& out) {
  double unit_ns = 0;
  if (cut_suffix(text, "ns")) {
    unit_ns = 1;
  } else if (cut_suffix(text, "us")) {
    unit_ns = 1e3;
  } else if (cut_suffix(text, "ms")) {
    unit_ns = 1e6;
  }
  const auto value = number<double>(text);
  if (unit_ns == 0 || !value || *value * unit_ns > static_cast<double>(kMaxFaultDelay.ns)) {
    return false;
  }
  out = Duration::from_ns(std::llround(*value * unit_ns));
  return true;
}

bool read_delay(std::string_view text, FaultConfig& c) {
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    return read_time(text, c.delay_min) && read_time(text, c.delay_max);
  }
  return read_time(text.substr(0, dash), c.delay_min) &&
         read_time(text.substr(dash + 1), c.delay_max) && c.delay_min <= c.delay_max;
}

bool read_burst(std::string_view text, FaultConfig& c) {
  const auto value = number<uint32_t>(text);
  c.loss_burst = value.value_or(0);
  return c.loss_burst >= 1 && c.loss_burst <= 1'000'000;
}

bool read_seed(std::string_view text, FaultConfig& c) {
  const auto value = number<uint64_t>(text);
  c.seed = value.value_or(0);
  return value.has_value();
}

struct Key {
  std::string_view name;
  bool (*read)(std::string_view value, FaultConfig& config);
  std::string_view allowed;
};

constexpr std::string_view kShare = "0% to 100%, or 0 to 1";

constexpr std::array kKeys{
    Key{"loss", [](std::string_view v, FaultConfig& c) { return read_share(v, c.loss); }, kShare},
    Key{"burst", read_burst, "1 to 1000000 frames"},
    Key{"dup", [](std::string_view v, FaultConfig& c) { return read_share(v, c.duplicate); },
        kShare},
    Key{"reorder", [](std::string_view v, FaultConfig& c) { return read_share(v, c.reorder); },
        kShare},
    Key{"corrupt", [](std::string_view v, FaultConfig& c) { return read_share(v, c.corrupt); },
        kShare},
    Key{"delay", read_delay, "0ns to 10000ms, as 20us or 5us-20us"},
    Key{"delay_share", [](std::string_view v, FaultConfig& c) { return read_share(v, c.delay); },
        kShare},
    Key{"seed", read_seed, "0 to 18446744073709551615"},
};

constexpr size_t index_of(std::string_view name) {
  size_t i = 0;
  while (i < kKeys.size() && kKeys[i].name != name) {
    i++;
  }
  return i;
}

tl::unexpected<Error> unknown_key(std::string_view name) {
  std::string known;
  for (const Key& k : kKeys) {
    known.append(known.empty() ? "" : ", ").append(k.name);
  }
  return failure(EINVAL, "fault '" + std::string(name) + "' is unknown; use one of " + known);
}

}  // namespace

Result<FaultConfig> parse_faults(std::string_view text) {
  FaultConfig config;
  std::array<bool, kKeys.size()> seen{};
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view pair = text.substr(0, comma);
    const bool last = comma == std::string_view::npos;
    text.remove_prefix(last ? text.size() : comma + 1);
    if (!last && text.empty()) {
      return failure(EINVAL, "the list of faults ends with a comma; take it away or add key=value");
    }

    const size_t equals = pair.find('=');
    const std::string_view name = pair.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1);
    const size_t i = index_of(name);
    if (i == kKeys.size()) {
      return unknown_key(name);
    }
    if (seen[i]) {
      return failure(EINVAL, "fault '" + std::string(name) + "' is given twice; give it once");
    }
    seen[i] = true;
    if (!kKeys[i].read(value, config)) {
      return failure(EINVAL, "fault '" + std::string(name) + "' is '" + std::string(value) +
                                 "'; allowed: " + std::string(kKeys[i].allowed));
    }
  }
  if (seen[index_of("delay")] && !seen[index_of("delay_share")]) {
    config.delay = 1;
  }
  return config;
}

}  // namespace roce
