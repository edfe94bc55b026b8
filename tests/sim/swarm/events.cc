// The events of a plan. One that makes no sense when its time has come does nothing, so that any
// subset of a plan is a plan.
// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "sim/swarm/world.h"

namespace roce::swarm {

Connection* World::choose_live(Prng& prng) {
  std::vector<Connection*> live;
  for (const auto& c : connections_) {
    if (c->phase == Connection::Phase::live) {
      live.push_back(c.get());
    }
  }
  return live.empty() ? nullptr : live[prng.below(static_cast<uint32_t>(live.size()))];
}

void World::execute(const Event& event) {
  Prng prng(event.seed);
  switch (event.kind) {
    case Kind::partition:
    case Kind::port_full:
    case Kind::pool_empty:
    case Kind::clock_jump:
    case Kind::starvation:
    case Kind::restart:
      execute_fault(event, prng);
      break;
    case Kind::check:
      for (const auto& host : hosts_) {
        compare(*host);
        check_counters(*host);
      }
      break;
    case Kind::resize:
      resize(*hosts_[prng.below(static_cast<uint32_t>(hosts_.size()))], prng);
      break;
    default:
      execute_on_end(event, prng);
      break;
  }
}

void World::execute_on_end(const Event& event, Prng& prng) {
  Connection* const c = choose_live(prng);
  if (c == nullptr) {
    return;
  }
  End& end = prng.chance(0.5) ? c->a : c->b;
  if (event.kind == Kind::destroy) {
    say("destroy " + describe(end));
    if (!end.gone) {
      disturb(*end.host);
      end.host->ends.erase(end.qpn);
      end.qp.reset();
      retire(end);
    }
    return;
  }
  if (end.gone) {
    return;
  }
  switch (event.kind) {
    case Kind::send:
      post_sends(end, prng);
      break;
    case Kind::receive:
      fill_receives(end);
      break;
    case Kind::bind:
      post_bind(end, prng);
      break;
    case Kind::invalidate:
      post_invalidate(end);
      break;
    case Kind::reregister:
      reregister(end);
      break;
    case Kind::pause:
      pause(end, prng);
      break;
    case Kind::spoil:
      post_spoiled(end, prng);
      break;
    case Kind::error: {
      say("to ERR: " + describe(end));
      ibv_qp_attr attr{};
      attr.qp_state = IBV_QPS_ERR;
      end.erring = true;
      modify(end, attr, IBV_QP_STATE);
      break_connection(*c);
      break;
    }
    case Kind::replace:
      say("replace " + describe(end));
      if (!end.peer->gone && prng.chance(0.5)) {
        reset_both(*c);
      } else {
        break_connection(*c);
      }
      break;
    case Kind::join:
      join(end, prng);
      break;
    case Kind::leave:
      leave(end, prng);
      break;
    case Kind::deregister:
      deregister(end);
      break;
    default:
      break;
  }
}

void World::execute_fault(const Event& event, Prng& prng) {
  const auto hosts = static_cast<uint32_t>(hosts_.size());
  const size_t which = prng.below(hosts);
  const Duration span = Duration::from_us(1 + prng.below(400));
  const Instant until = now() + span;
  if (event.kind != Kind::partition) {
    refuse_script(*hosts_[which], "its port, its engine or its clock is disturbed");
  }
  say(std::string(name_of(event.kind)) + " at host " + std::to_string(which) + " for " +
      std::to_string(span.ns / 1000) + " us");
  switch (event.kind) {
    case Kind::partition:
      network_.cut(which, (which + 1 + prng.below(hosts - 1)) % hosts, until);
      break;
    case Kind::port_full:
      network_.port(which).block_until(until);
      break;
    case Kind::pool_empty:
      network_.port(which).empty_until(until);
      break;
    case Kind::clock_jump:
      leap(span * (prng.chance(0.2) ? 10'000 : 10));
      break;
    case Kind::starvation:
      hosts_[which]->starved_until = until;
      break;
    default:
      restart(*hosts_[which]);
      break;
  }
}

/// Time that nobody could use counts for nobody.
void World::leap(Duration by) {
  clock_.set(now() + by);
  for (const auto& c : connections_) {
    if (c->phase == Connection::Phase::closing) {
      c->closed_by = c->closed_by + by;
    }
  }
}

/// The process dies with all it has, and another one takes its place under the same addresses.
void World::restart(Host& host) {
  host.port->set_dead(true);
  for (const auto& c : connections_) {
    for (End* end : {&c->a, &c->b}) {
      if (end->host != &host || c->phase == Connection::Phase::closed || end->crashed) {
        continue;
      }
      end->qp.reset();
      end->ah.reset();
      end->group_ahs = {};
      end->mw.reset();
      end->mr.reset();
      for (SendRecord& record : end->sends) {
        // What it has sent may yet arrive, at a peer that lives on.
        if (end->peer->host != &host) {
          retire_send(*end, record);
        }
      }
      end->sends.clear();
      end->receives.clear();
      end->gone = end->crashed = true;
      end->marker_due = false;
      end->resume_at = kNever;
      break_connection(*c);
    }
  }
  stop_host(host, true);
  if (!failed()) {
    start_host(host);
  }
}

void World::pause(End& end, Prng& prng) {
  if (end.qp->query().qp_state != IBV_QPS_RTS) {
    return;
  }
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_SQD;
  modify(end, attr, IBV_QP_STATE);
  end.resume_at = now() + Duration::from_us(prng.below(200));
  say("pause " + describe(end));
}

/// Takes the right to write away, or gives it back.
void World::reregister(End& end) {
  refuse_script(*end.host, "its memory is registered anew");
  if (!end.mr) {
    return;
  }
  const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND |
                     (end.read_only ? IBV_ACCESS_REMOTE_WRITE : 0);
  const Status s = end.mr->reregister(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, access);
  const bool refused = !s && s.error().code == EBUSY;
  if (!s && !refused) {
    fail("rereg_mr: " + s.error().reason);
  } else if (s && end.mw_state == WindowState::bound) {
    fail("a region with a window bound to it was registered anew");
  } else if (refused && end.mw_state == WindowState::none) {
    fail("a region without a window is said to have one");
  }
  if (s) {
    say("reregister the window of " + describe(end));
    end.read_only = !end.read_only;
    end.disturbed = end.connection->provoked = true;
  }
}

void World::deregister(End& end) {
  refuse_script(*end.host, "its memory is deregistered");
  if (!end.mr) {
    return;
  }
  const Status s = end.mr->deregister();
  if (s && end.mw_state == WindowState::bound) {
    fail("a region with a window bound to it was deregistered");
  } else if (!s && (s.error().code != EBUSY || end.mw_state == WindowState::none)) {
    fail("dereg_mr: " + s.error().reason);
  }
  if (s) {
    say("deregister the window of " + describe(end));
    end.mr.reset();
    end.disturbed = end.connection->provoked = true;
  }
}

void World::resize(Host& host, Prng& prng) {
  const size_t which = prng.below(static_cast<uint32_t>(host.cqs.size()));
  verbs::Cq& cq = host.cqs[which];
  CompletionRoom& room = host.rooms[which];
  const size_t entries =
      options_.small_queues ? cq_entries(prng) : cq_entries(prng) + prng.below(64);
  say("resize CQ " + std::to_string(cq.handle()) + " of host " + std::to_string(host.index));
  const Status s = cq.resize(static_cast<int>(entries));
  if (!s && entries >= room.entries) {
    fail("resize_cq: " + s.error().reason);
  }
  room.disturbed = true;  // the engine has had a turn, too
  if (s) {
    room.entries = entries;
  }
}

}  // namespace roce::swarm
