// The command line of uroce-bw: perftest's flags and uroce's own.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/options.h"
#include "common/report.h"

namespace uroce::bw {

inline constexpr std::string_view kProgram = "uroce-bw";

struct Options : app::RunOptions {
  uint32_t post_list = 16;
  uint32_t cq_moderation = 100;
  app::BandwidthUnit unit = app::BandwidthUnit::mib;
  bool sweep = false;          ///< all sizes, powers of two
  bool bidirectional = false;  ///< both ends send, each over queue pairs of its own
  bool warm_up = false;
  bool no_peak = false;
  bool cpu_use = false;
  double rate = 0;       ///< 0: no limit; in `rate_unit`
  char rate_unit = 'M';  ///< M: MiB/s, g: Gb/s, p: messages/s
  uint32_t burst = 1;
  uint32_t margin_s = 0;       ///< of a duration, left out at both ends
  double least_bandwidth = 0;  ///< in `unit`; less is a failure
  double least_rate = 0;       ///< millions of messages a second; less is a failure
  uint32_t linger_s = 0;       ///< before queue pairs go
  std::string only;            ///< "bandwidth" or "message_rate": print this number alone

  /// Queue pairs of this end, both directions together.
  uint32_t lanes() const { return bidirectional ? 2 * qps : qps; }
  double messages_per_second() const;
};

/// An exit code when the program must end; messages have been printed.
std::optional<int> parse(int argc, const char* const* argv, Options& options);

}  // namespace uroce::bw
