// Counters of one engine, one for each thing that can happen to a packet.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

#include "base/drop_reason.h"

namespace roce {

struct EngineCounters {
  uint64_t rcvd_packets = 0;    ///< RoCE packets that reached a QP
  uint64_t sent_packets = 0;    ///< RoCE packets handed to the port or looped back
  uint64_t rcvd_other = 0;      ///< ARP, neighbour discovery, ICMP
  uint64_t rcvd_cnp = 0;        ///< congestion notifications
  uint64_t rcvd_ce = 0;         ///< packets marked "congestion experienced"
  uint64_t looped_packets = 0;  ///< of the sent ones, those for an own address
  uint64_t dropped = 0;         ///< always the sum of `drops`
  std::array<uint64_t, kDropReasonCount> drops{};

  void drop(DropReason reason) {
    ++drops[static_cast<size_t>(reason)];
    ++dropped;
  }
  uint64_t drops_of(DropReason reason) const { return drops[static_cast<size_t>(reason)]; }
};

}  // namespace roce
