// What a running device is at, at one moment: for telemetry, not for the data path.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "roce/counters.h"

namespace roce::verbs {

struct QpSnapshot {
  uint32_t qpn = 0;
  uint32_t remote_qpn = 0;
  std::string_view type;   ///< "RC"
  std::string_view state;  ///< "RTS"
  uint32_t pd = 0;
  uint32_t pmtu = 0;      ///< bytes
  uint32_t next_psn = 0;  ///< the next one to be sent
  uint32_t una_psn = 0;   ///< the oldest one not acknowledged
  uint32_t in_flight = 0;
  QpCounters counters;
};

struct CqSnapshot {
  uint32_t lcore = 0;   ///< the engine, of those that are shown together
  uint32_t handle = 0;  ///< a number of its engine's
  uint32_t capacity = 0;
  bool overrun = false;  ///< a completion was lost
};

struct MrSnapshot {
  uint32_t key = 0;
  uint32_t pd = 0;
  uint64_t address = 0;
  uint64_t length = 0;  ///< bytes
  std::string_view kind;
};

struct Snapshot {
  uint64_t time_ns = 0;  ///< by the device's clock
  bool link_up = false;
  EngineCounters engine;
  QpCounters all_qps;  ///< destroyed ones included
  PortStats port;
  uint64_t turns = 0;    ///< of the engine
  uint64_t busy_ns = 0;  ///< time that began with turns in which a frame came or went
  int cpu = -1;          ///< where the engine ran last
  std::vector<QpSnapshot> qps;
  std::vector<CqSnapshot> cqs;
  std::vector<MrSnapshot> mrs;
};

/// Several engines shown as one: all of their objects, and the sums of what they counted. Requires
/// at least one. Time and CPU are the first one's; the link is up if all see it so.
Snapshot together(const std::vector<Snapshot>& all);

}  // namespace roce::verbs
