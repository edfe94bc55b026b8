// Words for the values of verbs' enums, and which rate each InfiniBand rate stands for.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>

#include "objects.h"

namespace roce::ibv {
namespace {

template <size_t n>
const char* name_of(const std::array<const char*, n>& names, int value) {
  const auto i = static_cast<size_t>(value);
  return value >= 0 && i < n ? names[i] : "unknown";
}

struct Rate {
  ibv_rate rate;
  int multiple;  // of 2.5 Gbit/s; 0: is none
  int mbps;
};

constexpr std::array<Rate, 23> kRates = {{
    {IBV_RATE_2_5_GBPS, 1, 2'500},        {IBV_RATE_5_GBPS, 2, 5'000},
    {IBV_RATE_10_GBPS, 4, 10'000},        {IBV_RATE_20_GBPS, 8, 20'000},
    {IBV_RATE_30_GBPS, 12, 30'000},       {IBV_RATE_40_GBPS, 16, 40'000},
    {IBV_RATE_60_GBPS, 24, 60'000},       {IBV_RATE_80_GBPS, 32, 80'000},
    {IBV_RATE_120_GBPS, 48, 120'000},     {IBV_RATE_14_GBPS, 0, 14'062},
    {IBV_RATE_56_GBPS, 0, 56'250},        {IBV_RATE_112_GBPS, 0, 112'500},
    {IBV_RATE_168_GBPS, 0, 168'750},      {IBV_RATE_25_GBPS, 0, 25'781},
    {IBV_RATE_100_GBPS, 0, 103'125},      {IBV_RATE_200_GBPS, 0, 206'250},
    {IBV_RATE_300_GBPS, 0, 309'375},      {IBV_RATE_28_GBPS, 11, 28'125},
    {IBV_RATE_50_GBPS, 20, 53'125},       {IBV_RATE_400_GBPS, 160, 425'000},
    {IBV_RATE_600_GBPS, 240, 637'500},    {IBV_RATE_800_GBPS, 320, 850'000},
    {IBV_RATE_1200_GBPS, 480, 1'275'000},
}};

/// One number of a rate; -1 for an unknown one, or one that has no such number.
int number_of(ibv_rate rate, int Rate::*number) {
  const auto* const at =
      std::ranges::find_if(kRates, [rate](const Rate& r) { return r.rate == rate; });
  return at != kRates.end() && at->*number != 0 ? at->*number : -1;
}

/// The rate that has exactly this number; else that of no limit.
ibv_rate rate_of(int value, int Rate::*number) {
  const auto* const at = std::ranges::find_if(
      kRates, [value, number](const Rate& r) { return value != 0 && r.*number == value; });
  return at != kRates.end() ? at->rate : IBV_RATE_MAX;
}

}  // namespace
}  // namespace roce::ibv

using namespace roce::ibv;

UROCE_PUBLIC const char* ibv_wc_status_str(ibv_wc_status status) {
  return roce::verbs::wc_status_name(status).data();  // a literal, so that a zero ends it
}

UROCE_PUBLIC const char* ibv_node_type_str(ibv_node_type type) {
  static constexpr std::array<const char*, 8> kNames = {"unknown",     "channel adapter", "switch",
                                                        "router",      "iWARP",           "usNIC",
                                                        "usNIC (UDP)", "unspecified"};
  return name_of(kNames, type);
}

UROCE_PUBLIC const char* ibv_port_state_str(ibv_port_state state) {
  static constexpr std::array<const char*, 6> kNames = {"none",  "down",   "initializing",
                                                        "armed", "active", "active, deferred"};
  return name_of(kNames, state);
}

UROCE_PUBLIC const char* ibv_event_type_str(ibv_event_type event) {
  static constexpr std::array<const char*, 20> kNames = {
      "completion queue in error",
      "queue pair in error",
      "invalid request for a queue pair",
      "access error of a queue pair",
      "communication established",
      "send queue drained",
      "path migrated",
      "path migration failed",
      "device in error",
      "port active",
      "port down",
      "LID changed",
      "P_Key table changed",
      "subnet manager changed",
      "shared receive queue in error",
      "shared receive queue below its limit",
      "last receive of a queue pair taken",
      "clients must register again",
      "GID table changed",
      "work queue in error",
  };
  return name_of(kNames, event);
}

UROCE_PUBLIC int ibv_rate_to_mult(ibv_rate rate) {
  return number_of(rate, &Rate::multiple);
}

UROCE_PUBLIC ibv_rate mult_to_ibv_rate(int mult) {
  return rate_of(mult, &Rate::multiple);
}

UROCE_PUBLIC int ibv_rate_to_mbps(ibv_rate rate) {
  return number_of(rate, &Rate::mbps);
}

UROCE_PUBLIC ibv_rate mbps_to_ibv_rate(int mbps) {
  return rate_of(mbps, &Rate::mbps);
}
