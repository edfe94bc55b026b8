// Points and spans of time in nanoseconds. The transport never reads a clock: every entry point is
// handed the current Instant by its driver, which is what lets the same code run in virtual time.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <compare>
#include <cstdint>

namespace roce {

/// A span of time. Range: +-292 years.
struct Duration {
  int64_t ns = 0;

  static constexpr Duration from_ns(int64_t v) { return {v}; }
  static constexpr Duration from_us(int64_t v) { return {v * 1000}; }
  static constexpr Duration from_ms(int64_t v) { return {v * 1'000'000}; }
  static constexpr Duration from_s(int64_t v) { return {v * 1'000'000'000}; }

  friend constexpr auto operator<=>(const Duration&, const Duration&) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.ns + b.ns}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ns - b.ns}; }
  friend constexpr Duration operator*(Duration a, int64_t k) { return {a.ns * k}; }
};

/// A point on the driver's monotonic clock, in nanoseconds since an arbitrary origin.
struct Instant {
  uint64_t ns = 0;

  friend constexpr auto operator<=>(const Instant&, const Instant&) = default;
  friend constexpr Instant operator+(Instant t, Duration d) {
    return {t.ns + static_cast<uint64_t>(d.ns)};
  }
  friend constexpr Duration operator-(Instant a, Instant b) {
    return {static_cast<int64_t>(a.ns - b.ns)};
  }
};

/// Later than every other Instant: "no deadline".
inline constexpr Instant kNever{UINT64_MAX};

}  // namespace roce
