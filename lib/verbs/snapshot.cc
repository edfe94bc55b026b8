// Reads the engine's tables on the engine's thread.
// SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>

#include <chrono>
#include <string>

#include <roce/snapshot.h>
#include <roce/verbs.h>

#include "base/add_counts.h"
#include "base/check.h"
#include "objects.h"

namespace roce::verbs {
namespace {

std::string_view kind_name(RegionKind kind) {
  return kind == RegionKind::region ? "region" : "window";
}

QpSnapshot snapshot_of(const roce::Qp& qp) {
  const QpCore& core = qp.core();
  const SendWindow& window = qp.send_window();
  return {.qpn = core.qpn,
          .remote_qpn = core.remote_qpn,
          .type = roce::name_of(core.type),
          .state = roce::name_of(qp.state()),
          .pd = core.pd,
          .pmtu = core.pmtu(),
          .next_psn = window.next().value(),
          .una_psn = window.una().value(),
          .in_flight = window.in_flight(),
          .counters = core.counters};
}

void read_engine(detail::DeviceState& device, Snapshot& snapshot) {
  const Engine& engine = device.engine;
  snapshot.time_ns = engine.now().ns;
  snapshot.link_up = engine.port().link_up();
  snapshot.engine = engine.counters();
  snapshot.all_qps = engine.qp_counters();
  snapshot.port = engine.port().stats();
  snapshot.turns = device.driver.turns();
  snapshot.busy_ns = device.driver.busy_ns();
  snapshot.cpu = sched_getcpu();
  engine.qps().for_each(
      [&snapshot](const roce::Qp& qp) { snapshot.qps.push_back(snapshot_of(qp)); });
  device.objects.for_each(
      [&snapshot](const detail::CqState* cq) {
        snapshot.cqs.push_back({.handle = cq->handle,
                                .capacity = cq->queue.capacity(),
                                .overrun = cq->queue.overrun()});
      },
      [&snapshot, &device](uint32_t key) {
        if (const MemoryRegion* const region = device.engine.regions().find(key)) {
          snapshot.mrs.push_back({.key = key,
                                  .pd = region->pd,
                                  .address = region->va,
                                  .length = region->length,
                                  .kind = kind_name(region->kind)});
        }
      });
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

Snapshot together(const std::vector<Snapshot>& all) {
  ROCE_CHECK(!all.empty());
  Snapshot sum = all[0];
  for (size_t i = 1; i < all.size(); ++i) {
    const Snapshot& s = all[i];
    sum.link_up = sum.link_up && s.link_up;
    add_counts(sum.engine, s.engine);
    add_counts(sum.all_qps, s.all_qps);
    add_counts(sum.port, s.port);
    sum.turns += s.turns;
    sum.busy_ns += s.busy_ns;
    append(sum.qps, s.qps);
    append(sum.cqs, s.cqs);
    for (size_t k = sum.cqs.size() - s.cqs.size(); k < sum.cqs.size(); ++k) {
      sum.cqs[k].lcore = static_cast<uint32_t>(i);
    }
    append(sum.mrs, s.mrs);
  }
  return sum;
}

Result<Snapshot> Device::snapshot(Duration patience) const {
  Snapshot snapshot;
  if (!state_->driver.ask([&] { read_engine(*state_, snapshot); },
                          std::chrono::nanoseconds(patience.ns))) {
    return failure(ETIMEDOUT,
                   "nobody has driven the device for " + std::to_string(patience.ns / 1'000'000) +
                       " ms; the program has to poll, or to use engine.drive lcore or assisted");
  }
  return snapshot;
}

}  // namespace roce::verbs
