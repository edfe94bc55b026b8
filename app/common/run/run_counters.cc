// Picks what tells why a run was slow or lossy.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/run/run_counters.h"

#include <string>
#include <string_view>

#include <roce/counters.h>

namespace uroce::app {

Counters run_counters(roce::Endpoint& endpoint) {
  // Before the port's figures, which contain them, so that they are never more.
  const roce::FaultSummary faults = endpoint.faults();
  roce::EngineCounters engine;
  roce::QpCounters qps;
  roce::PortStats port;
  for (size_t i = 0; i < endpoint.lcores(); ++i) {
    add_counts(engine, endpoint.device(i).counters());
    add_counts(qps, endpoint.device(i).qp_counters());
    add_counts(port, endpoint.device(i).port_stats());
  }
  Counters counters = {{"retransmits", qps.retransmitted}, {"drops", engine.dropped}};
  const auto add = [&counters](std::string_view name, uint64_t value) {
    if (value != 0) {
      counters.emplace_back(name, value);
    }
  };
  add("timeouts", qps.timeouts);
  add("early_retransmits", qps.early_retransmits);
  add("sequence_naks_rcvd", qps.sequence_naks_rcvd);
  add("sequence_naks_sent", qps.sequence_naks_sent);
  add("rnr_naks_rcvd", qps.rnr_naks_rcvd);
  add("rnr_naks_sent", qps.rnr_naks_sent);
  add("implied_naks", qps.implied_naks);
  add("duplicate_requests", qps.duplicate_requests);
  for (size_t i = 1; i < roce::kDropReasonCount; ++i) {
    add("drops_" + std::string(roce::kDropReasonNames[i]), engine.drops[i]);
  }
  add("port_rx_missed", port.rx_missed - faults.lost);  // which it counts as well
  add("port_rx_handed_over", port.rx_handed_over);
  add("faults_lost", faults.lost);
  add("faults_duplicated", faults.duplicated);
  add("faults_corrupted", faults.corrupted);
  add("faults_reordered", faults.reordered);
  add("faults_delayed", faults.delayed);
  return counters;
}

}  // namespace uroce::app
