// Taking completions out of their queues, and what is done with the memory of requests then.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <string>

#include "sim/swarm/world.h"

namespace roce::swarm {

std::string World::describe(const End& end) const {
  const char* type = end.type == IBV_QPT_RC ? "RC" : end.type == IBV_QPT_UC ? "UC" : "UD";
  return std::string(type) + " QP " + std::to_string(end.qpn) + " of host " +
         std::to_string(end.host->index);
}

struct World::Seen {
  Host* host;
  ibv_wc wc;
};

/// Adds a completion to those of its kind. False when nobody can have it.
bool World::sort(Host& host, const ibv_wc& wc, std::vector<Seen>& receives,
                 std::vector<Seen>& sends) {
  const auto end = host.ends.find(wc.qp_num);
  if (end == host.ends.end()) {
    fail("a completion of QP " + std::to_string(wc.qp_num) + ", which is gone");
    return false;
  }
  End& e = *end->second;
  const bool sent = std::any_of(e.sends.begin(), e.sends.end(),
                                [&](const SendRecord& r) { return r.id == wc.wr_id; });
  (sent ? sends : receives).push_back({&host, wc});
  if (sent && wc.status != IBV_WC_SUCCESS) {
    break_connection(*e.connection);  // that is why its receives are flushed
  }
  return true;
}

/// Takes all completions of everybody, the receives first: whoever has been acknowledged must find
/// his message received.
void World::poll_all() {
  std::vector<Seen> receives;
  std::vector<Seen> sends;
  std::array<ibv_wc, 16> wc{};
  for (const auto& host : hosts_) {
    take_events(*host);
  }
  for (const auto& host : hosts_) {
    for (size_t cq = 0; cq < host->cqs.size(); ++cq) {
      size_t taken = 0;
      int n;
      while ((n = host->cqs[cq].poll(wc)) > 0) {
        taken += static_cast<size_t>(n);
        for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
          script_completion(*host, wc[i]);
          if (!sort(*host, wc[i], receives, sends)) {
            return;
          }
        }
      }
      judge_room(*host, cq, taken, n);
    }
  }
  for (const Seen& seen : receives) {
    on_received(*seen.host->ends.at(seen.wc.qp_num), seen.wc);
  }
  for (const Seen& seen : sends) {
    on_sent(*seen.host->ends.at(seen.wc.qp_num), seen.wc);
  }
  check_copies();
}

Range World::take(Host& host, size_t size) {
  const Range slot = host.space->take(size);
  host.memory->make_ready(slot.end());
  return slot;
}

void World::release(Host& host, Range slot) {
  host.space->give(slot);
}

void World::adopt(Host& host, const Pieces& pieces) {
  for (size_t i = 0; i < pieces.count; ++i) {
    host.memory->adopt(pieces.at[i]);
  }
}

Bytes World::gather(Host& host, const Pieces& pieces, size_t skip, size_t size) const {
  Bytes bytes;
  for (size_t i = 0; i < pieces.count; ++i) {
    const uint8_t* const from = host.memory->actual() + pieces.at[i].begin;
    bytes.insert(bytes.end(), from, from + pieces.at[i].size);
  }
  bytes.resize(std::min(bytes.size(), skip + size));
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(std::min(skip, bytes.size())));
  return bytes;
}

}  // namespace roce::swarm
