// What follows from the options alone.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/options.h"

#include <array>

namespace uroce::app {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"send", "write",       "write_imm",
                                                    "read", "atomic_fadd", "atomic_cswap"};

}  // namespace

std::string_view name_of(Operation operation) {
  return kNames[static_cast<size_t>(operation)];
}

std::string_view name_of(Transport transport) {
  switch (transport) {
    case Transport::rc:
      return "RC";
    case Transport::uc:
      return "UC";
    case Transport::ud:
      return "UD";
  }
  return {};
}

// An ACK timer of T may take up to 4 T (IBTA vol. 1, 9.7.6.1.3).
double give_up_seconds(const ConnectionOptions& options) {
  if (options.timeout == 0) {
    return 0;
  }
  const double once = 4.096e-6 * static_cast<double>(1ULL << options.timeout);
  return 4 * once * (options.retry_count + 1);
}

roce::ConfigSources config_sources(const RunOptions& options) {
  return {.default_side = options.is_server() ? roce::Side::a : roce::Side::b,
          .file = options.config_file,
          .environment = roce::process_environment(),
          .flags = options.config_flags,
          .cpus = {}};
}

}  // namespace uroce::app
