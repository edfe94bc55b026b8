// What a ScriptWriter is told of the end that it watches.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "sim/swarm/draft.h"
#include "sim/swarm/world.h"

namespace roce::swarm {

/// Who writes about this end; nullptr: nobody. A case ends where the queue pair is used in error.
ScriptWriter* World::scribe_of(const End& end) const {
  return watch_.script != nullptr && watch_.script->watches(end) ? watch_.script : nullptr;
}

ScriptWriter* World::scribe_of_request(const End& end) const {
  ScriptWriter* const scribe = scribe_of(end);
  if (scribe != nullptr && end.qp->query().qp_state == IBV_QPS_ERR) {
    scribe->stop();
    return nullptr;
  }
  return scribe;
}

void World::begin_script(const Connection& c) {
  if (watch_.script == nullptr) {
    return;
  }
  watch_.script->begin(c, options_, now());
  for (const auto& host : hosts_) {
    if (watch_.script->watches(*host)) {
      host->port->set_tap([this](std::span<const uint8_t> frame, bool sent) {
        watch_.script->on_frame(now(), frame, sent);
      });
    }
  }
}

void World::script_posts(const End& end, std::span<const Draft> drafts) {
  if (ScriptWriter* const scribe = scribe_of_request(end)) {
    std::vector<const SendRecord*> records;
    for (const Draft& draft : drafts) {
      records.push_back(&draft.record);
    }
    scribe->on_post(now(), drafts.front().wr, records);
  }
}

void World::script_completion(const Host& host, const ibv_wc& wc) {
  const auto at = host.ends.find(wc.qp_num);
  if (watch_.script == nullptr || at == host.ends.end()) {
    return;
  }
  const End& end = *at->second;
  if (ScriptWriter* const scribe = scribe_of(end)) {
    const bool sent = std::any_of(end.sends.begin(), end.sends.end(),
                                  [&](const SendRecord& r) { return r.id == wc.wr_id; });
    scribe->on_completion(now(), wc, sent);
  }
}

void World::script_drops(const Host& host) {
  if (watch_.script != nullptr && watch_.script->watches(host)) {
    watch_.script->on_drops(now(), host.device->counters().drops);
  }
}

void World::refuse_script(const Host& host, const char* why) {
  if (watch_.script != nullptr && watch_.script->watches(host)) {
    watch_.script->refuse(why);
  }
}

}  // namespace roce::swarm
