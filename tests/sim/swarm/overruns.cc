// Completion queues that overrun: what their users are told, and what they can know of requests
// whose completions were lost.
// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <string>

#include "sim/swarm/world.h"

namespace roce::swarm {

/// Before completions are looked at: the event tells that some are missing.
void World::take_events(Host& host) {
  if (!options_.small_queues && watch_.script == nullptr) {
    return;
  }
  while (const auto event = host.device->take_async_event()) {
    if (watch_.script != nullptr && watch_.script->watches(host)) {
      watch_.script->on_event(now(), event->type);
    }
    if (event->type == IBV_EVENT_CQ_ERR) {
      on_cq_error(host, event->object);
    } else if (event->type == IBV_EVENT_QP_FATAL) {
      on_fatal(host, event->object);
    }
  }
}

void World::on_cq_error(Host& host, uint32_t handle) {
  say("CQ_ERR of CQ " + std::to_string(handle) + " of host " + std::to_string(host.index));
  for (size_t i = 0; i < host.cqs.size(); ++i) {
    if (host.cqs[i].handle() == handle) {
      if (host.rooms[i].told) {
        fail("a second CQ_ERR of one completion queue");
      }
      host.rooms[i].told = true;
      ++totals_.overruns;
      return;
    }
  }
  fail("a CQ_ERR of a completion queue that is none");
}

/// R16, Q10: the queue pair whose completion was lost is in error.
void World::on_fatal(Host& host, uint32_t qpn) {
  const auto at = host.ends.find(qpn);
  if (at == host.ends.end()) {
    return;  // destroyed meanwhile
  }
  End& end = *at->second;
  say("QP_FATAL of " + describe(end));
  if (!host.rooms[end.send_cq].told && !host.rooms[end.recv_cq].told) {
    fail("QP_FATAL of " + describe(end) + ", whose completion queues have not overrun");
  }
  if (end.qp->query().qp_state != IBV_QPS_ERR) {
    if (!host.rooms[end.send_cq].disturbed) {
      fail(describe(end) + " has lost a completion, but is not in error");
    }
    return;  // it was, until it was reset
  }
  end.overrun = true;
  break_connection(*end.connection);
}

/// All that a queue had was taken out, `taken` completions; `last` is what poll has said then.
void World::judge_room(Host& host, size_t cq, size_t taken, int last) {
  CompletionRoom& room = host.rooms[cq];
  const std::string name =
      "CQ " + std::to_string(host.cqs[cq].handle()) + " of host " + std::to_string(host.index);
  if (taken > room.entries) {
    fail(name + " of " + std::to_string(room.entries) + " has held " + std::to_string(taken));
  } else if (last < 0) {
    if (last != -EOVERFLOW || !options_.small_queues) {
      fail(name + " has overrun");
    } else if (!room.told && !room.disturbed) {
      fail(name + " has overrun, of which nobody was told");
    } else if (!room.overrun && !room.disturbed && taken != room.entries) {
      fail(name + " of " + std::to_string(room.entries) + " has overrun with " +
           std::to_string(taken));
    }
    room.overrun = true;
  } else if (room.told) {
    fail(name + " has overrun, which poll does not say");
  }
  room.disturbed = false;
}

/// Entries of the host's completion queues are purged, since a queue pair goes.
void World::disturb(Host& host) {
  for (CompletionRoom& room : host.rooms) {
    room.disturbed = true;
  }
}

/// Receives in front of this one, whose completions were lost: nobody knows what is in them.
void World::give_up_receives(End& end, uint64_t before) {
  while (end.shared == nullptr && !end.receives.empty() && end.receives.front().id < before) {
    adopt(*end.host, end.receives.front().pieces);
    release(*end.host, end.receives.front().slot);
    end.receives.pop_front();
  }
}

}  // namespace roce::swarm
