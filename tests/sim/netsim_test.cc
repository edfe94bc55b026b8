// Seeded runs of whole devices over a bad wire: every byte and every completion is checked. A
// failing run names its seed and the command that repeats it.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "sim/party.h"
#include "sim/sim_pair.h"

namespace roce::sim {
namespace {

struct Scenario {
  const char* name;
  double loss;
  int may_give_up;    // runs of 50 in which the retry counter may run out
  int gid_index = 1;  // 1: IPv4, 0: IPv6
  std::optional<uint16_t> vlan = {};
  size_t held_packets[2] = {0, 0};
};

class NetSim : public testing::TestWithParam<Scenario> {};

/// True when a side gave up.
bool run_seed(const Scenario& scenario, uint64_t seed) {
  SCOPED_TRACE("repeat with: UROCE_TEST_SEED=" + std::to_string(seed) +
               " build/tests/sim/sim_tests --gtest_filter='*/" + scenario.name + "'");
  SimOptions options;
  options.seed = seed;
  options.vlan = scenario.vlan;
  std::copy_n(scenario.held_packets, 2, options.held_packets);
  options.faults.loss = scenario.loss;
  // Corrupted frames are lost ones too, so the worst wire loses enough without them.
  options.faults.duplicate = scenario.loss / 2;
  options.faults.reorder = scenario.loss / 2;
  options.faults.corrupt = scenario.loss > 0.2 ? 0 : scenario.loss / 2;
  SimPair pair(options);
  Party a(pair, 0, seed * 2);
  Party b(pair, 1, seed * 2 + 1);
  RcParameters parameters;
  parameters.psn[0] = static_cast<uint32_t>(0xffffc0 + seed % 64);
  parameters.psn[1] = static_cast<uint32_t>(seed * 2654435761u) & 0xffffff;
  parameters.gid_index = scenario.gid_index;
  parameters.pmtu = static_cast<ibv_mtu>(IBV_MTU_256 + seed % 5);
  EXPECT_EQ(connect_rc(pair, a.qp(), b.qp(), parameters), "");
  a.start(b, 60);
  b.start(a, 60);
  const bool finished = pair.run_until(
      [&] {
        a.turn();
        b.turn();
        return (a.done() && b.done()) || !a.problem().empty() || !b.problem().empty();
      },
      Duration::from_s(5));
  EXPECT_EQ(a.problem() + b.problem(), "");
  EXPECT_TRUE(finished) << "not finished after 5 virtual seconds";
  if (a.gave_up() || b.gave_up()) {
    return true;  // which of the last requests were executed is not known
  }
  EXPECT_TRUE(a.memory() == a.model()) << "memory of side 0 differs from the model";
  EXPECT_TRUE(b.memory() == b.model()) << "memory of side 1 differs from the model";
  return false;
}

TEST_P(NetSim, EveryByteArrivesOnceAndInOrder) {
  if (const char* one = std::getenv("UROCE_TEST_SEED")) {
    run_seed(GetParam(), std::strtoull(one, nullptr, 10));
    return;
  }
  int given_up = 0;
  for (uint64_t seed = 1; seed <= 50 && !HasFailure(); ++seed) {
    given_up += run_seed(GetParam(), seed) ? 1 : 0;
  }
  EXPECT_LE(given_up, GetParam().may_give_up);
}

INSTANTIATE_TEST_SUITE_P(
    Loss, NetSim,
    testing::Values(Scenario{"none", 0, 0}, Scenario{"percent1", 0.01, 0},
                    Scenario{"percent10", 0.1, 2}, Scenario{"percent30", 0.3, 40},
                    Scenario{"ipv6_percent5", 0.05, 0, 0},
                    Scenario{"vlan_percent5", 0.05, 0, 1, 42},
                    Scenario{"selective_none", 0, 0, 1, {}, {512, 512}},
                    Scenario{"selective_percent1", 0.01, 0, 1, {}, {512, 512}},
                    Scenario{"selective_percent10", 0.1, 0, 1, {}, {64, 512}},
                    Scenario{"selective_percent30", 0.3, 40, 1, {}, {512, 512}},
                    Scenario{"mixed_percent5", 0.05, 0, 1, {}, {512, 0}}),
    [](const auto& scenario) { return std::string(scenario.param.name); });

}  // namespace
}  // namespace roce::sim
