// Running one schedule.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/swarm/case.h"

#include <cstdio>

namespace roce::swarm {

Options options_of(const Case& c) {
  Options options = draw_options(c.seed);
  for (const auto& [which, share] : c.faults) {
    options.faults.*kFaultNames[which].share = share;
  }
  if (c.simple) {
    options.connections = 1;
    options.types = {IBV_QPT_RC};
    options.shared_receives = options.small_queues = false;
    options.repertoire.flush = options.repertoire.atomic_write = options.repertoire.windows = false;
    options.settled = true;
    options.turn = Duration::from_ns(1);
    options.lazy = 0;
  }
  return options;
}

std::vector<Event> plan_of(const Case& c) {
  // The plan is that of the seed: to switch a fault off does not move the other events.
  const Options options = draw_options(c.seed);
  std::vector<Event> plan = draw_plan(options);
  for (const auto& [which, share] : c.faults) {
    if (share == 0) {
      std::erase_if(plan, [name = kFaultNames[which].name](const Event& e) {
        return name_of(e.kind) == name;
      });
    }
  }
  if (c.inserted && c.inserted->second <= plan.size()) {
    const auto at = plan.begin() + static_cast<ptrdiff_t>(c.inserted->second);
    const Instant when = at == plan.end() ? plan.back().at : at->at;
    plan.insert(at, {when, c.inserted->first, c.seed});
  }
  if (c.kept) {
    std::vector<Event> kept;
    for (const size_t i : *c.kept) {
      if (i < plan.size()) {
        kept.push_back(plan[i]);
      }
    }
    plan = std::move(kept);
  }
  return plan;
}

std::string run_case(const Case& c, const Watch& watch, Totals* totals) {
  World world(options_of(c), plan_of(c), watch);
  std::string violation = world.run();
  if (totals != nullptr) {
    *totals = world.totals();
  }
  return violation;
}

std::string arguments_of(const Case& c) {
  std::string out = "--seed " + std::to_string(c.seed);
  for (const auto& [which, share] : c.faults) {
    char text[64];
    std::snprintf(text, sizeof text, "=%g", share);
    out += " --fault " + std::string(kFaultNames[which].name) + text;
  }
  if (c.inserted) {
    out += std::string(" --insert ") + name_of(c.inserted->first) + "@" +
           std::to_string(c.inserted->second);
  }
  out += c.simple ? " --simple" : "";
  if (c.kept) {
    out += " --events ";
    for (size_t i = 0; i < c.kept->size(); ++i) {
      out += i > 0 ? "," : "";
      out += std::to_string((*c.kept)[i]);
    }
  }
  return out;
}

}  // namespace roce::swarm
