// Faults: everything that a schedule may do to the network and to the ends, by name and
// probability.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <string_view>

namespace roce::swarm {

/// Shares from 0 to 1. The defaults do nothing.
struct Faults {
  // Of the frames on the wire.
  double loss = 0;       ///< lost, each by itself
  double burst = 0;      ///< starts a burst of lost frames
  double duplicate = 0;  ///< arrives twice
  double reorder = 0;    ///< a little late, so that others pass
  double delay = 0;      ///< very late, by as much as a few timeouts
  double corrupt = 0;    ///< 1 to 3 bits flipped
  double truncate = 0;   ///< cut short
  double forge = 0;      ///< a bit flipped and the ICRC made right again
  // Of the events of the plan.
  double partition = 0;   ///< one way between two ends is cut for a while
  double port_full = 0;   ///< a port takes no frame for a while
  double pool_empty = 0;  ///< a port has no buffers for a while
  double clock_jump = 0;  ///< time leaps
  double starvation = 0;  ///< an engine is not polled for a while
  double restart = 0;     ///< a process dies, a new one takes its place
  double destroy = 0;     ///< queue pairs are destroyed, whatever is under way
  double deregister = 0;  ///< memory is deregistered, whatever is under way
};

struct FaultName {
  std::string_view name;
  double Faults::*share;
};

inline constexpr std::array<FaultName, 16> kFaultNames = {{
    {"loss", &Faults::loss},
    {"burst", &Faults::burst},
    {"duplicate", &Faults::duplicate},
    {"reorder", &Faults::reorder},
    {"delay", &Faults::delay},
    {"corrupt", &Faults::corrupt},
    {"truncate", &Faults::truncate},
    {"forge", &Faults::forge},
    {"partition", &Faults::partition},
    {"port_full", &Faults::port_full},
    {"pool_empty", &Faults::pool_empty},
    {"clock_jump", &Faults::clock_jump},
    {"starvation", &Faults::starvation},
    {"restart", &Faults::restart},
    {"destroy", &Faults::destroy},
    {"deregister", &Faults::deregister},
}};

}  // namespace roce::swarm
