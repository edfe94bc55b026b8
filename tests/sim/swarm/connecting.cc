// Connections: how they are made, how they break, and what is left when they are gone.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>
#include <utility>

#include "attribute_mask.h"
#include "sim/swarm/world.h"

namespace roce::swarm {
namespace {

constexpr int kFlushGlobal = 1 << 8;  // IBV_ACCESS_FLUSH_GLOBAL, which rdma-core 44 lacks
constexpr int kWindowAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                              IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND | kFlushGlobal;
constexpr int kQpAccess =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | kFlushGlobal;
constexpr uint32_t kPsns = 1u << 24;
/// Far from where the old ones were, so that late packets mean nothing to the new queue pair.
constexpr uint32_t kPsnStride = 1u << 22;

}  // namespace

void World::connect_new(uint64_t seed) {
  connections_.push_back(std::make_unique<Connection>(seed));
  Connection& c = *connections_.back();
  Prng& prng = c.prng;
  const ibv_qp_type type = options_.types[prng.below(static_cast<uint32_t>(options_.types.size()))];
  c.pmtu = static_cast<ibv_mtu>(IBV_MTU_256 + static_cast<int>(prng.below(5)));
  c.ipv6 = prng.chance(0.3);
  for (uint32_t& psn : c.psn) {
    psn = prng.below(kPsns);
    psn = options_.near_wrap ? kPsns - 1 - psn % 32 : psn;
  }
  const auto some_host = [&] { return prng.below(static_cast<uint32_t>(hosts_.size())); };
  const size_t first = some_host();
  const bool loops_back = prng.chance(0.05);
  const size_t second =
      loops_back
          ? first
          : (first + 1 + prng.below(static_cast<uint32_t>(hosts_.size() - 1))) % hosts_.size();
  c.a.connection = c.b.connection = &c;
  c.a.peer = &c.b;
  c.b.peer = &c.a;
  c.a.host = hosts_[first].get();
  c.b.host = hosts_[second].get();
  if (!set_up_end(c.a, type, prng) || !set_up_end(c.b, type, prng)) {
    c.a.gone = c.b.gone = true;
    finish(c);  // no memory is left for it
    return;
  }
  if (make_qp(c.a) && make_qp(c.b) && make_ready(c)) {
    begin_script(c);
    fill_receives(c.a);
    fill_receives(c.b);
  }
}

bool World::set_up_end(End& end, ibv_qp_type type, Prng& prng) {
  Host& host = *end.host;
  end.type = type;
  end.pd = prng.below(static_cast<uint32_t>(host.pds.size()));
  end.send_cq = prng.below(static_cast<uint32_t>(host.cqs.size()));
  end.recv_cq = prng.below(static_cast<uint32_t>(host.cqs.size()));
  end.signal_all = !options_.repertoire.unsignaled;
  end.shared = !host.shared.empty() && prng.chance(0.7) ? host.shared[end.pd].get() : nullptr;
  return reserve_window(end);
}

/// Memory that the peer reads and writes. False: there is none.
bool World::reserve_window(End& end) {
  Host& host = *end.host;
  end.window = take(host, std::max<size_t>(options_.max_message, 1024));
  if (end.window.size == 0) {
    return false;
  }
  end.window_va = 0x5000'0000'0000 + (next_va_++ << 32);
  auto mr = host.device->reg_mr(host.pds[end.pd], host.memory->actual() + end.window.begin,
                                end.window.size, kWindowAccess, end.window_va);
  if (!mr) {
    fail("reg_mr: " + mr.error().reason);
    return false;
  }
  end.mr.emplace(std::move(*mr));
  end.rkey = end.mr->rkey();
  return true;
}

bool World::make_qp(End& end) {
  ibv_qp_init_attr attr{};
  attr.qp_type = end.type;
  attr.sq_sig_all = end.signal_all ? 1 : 0;
  attr.cap = {options_.depth * 2 + 2, options_.depth, kMaxPieces, kMaxPieces, 64};
  Host& host = *end.host;
  auto qp = host.device->create_qp(host.pds[end.pd], host.cqs[end.send_cq], host.cqs[end.recv_cq],
                                   attr, end.shared != nullptr ? &end.shared->srq : nullptr);
  if (!qp) {
    fail("create_qp: " + qp.error().reason);
    return false;
  }
  end.qp.emplace(std::move(*qp));
  end.qpn = end.qp->qpn();
  host.ends[end.qpn] = &end;
  return true;
}

bool World::modify(End& end, const ibv_qp_attr& attr, int mask) {
  if (const Status s = end.qp->modify(attr, mask); !s) {
    fail("modify: " + s.error().reason);
    return false;
  }
  if (ScriptWriter* const scribe = scribe_of(end); scribe != nullptr && mask == IBV_QP_STATE) {
    if (attr.qp_state == IBV_QPS_SQD || attr.qp_state == IBV_QPS_RTS) {
      scribe->on_move(now(), attr.qp_state);
    } else {
      scribe->stop();
    }
  }
  return true;
}

ibv_qp_attr World::way_to_peer(const Connection& c, const End& end) const {
  ibv_qp_attr attr{};
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.sgid_index = c.ipv6 ? 0 : 1;
  attr.ah_attr.grh.dgid = *end.peer->host->device->query_gid(1, c.ipv6 ? 0 : 1);
  return attr;
}

bool World::make_ready(Connection& c) {
  for (End* end : {&c.a, &c.b}) {
    const size_t own = end == &c.a ? 0 : 1;
    ibv_qp_attr attr = way_to_peer(c, *end);
    attr.port_num = 1;
    attr.qkey = kQkey;
    attr.qp_access_flags = kQpAccess;
    attr.path_mtu = c.pmtu;
    attr.dest_qp_num = end->peer->qp->qpn();
    attr.rq_psn = c.psn[1 - own];
    attr.sq_psn = c.psn[own];
    attr.max_dest_rd_atomic = attr.max_rd_atomic = options_.rd_atomic;
    attr.min_rnr_timer = options_.min_rnr_timer;
    attr.timeout = options_.timeout;
    attr.retry_cnt = options_.retry_cnt;
    attr.rnr_retry = options_.rnr_retry;
    for (const ibv_qp_state next : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      attr.qp_state = next;
      if (!modify(*end, attr, test::attribute_mask(end->type, next))) {
        return false;
      }
    }
    if (end->type == IBV_QPT_UD) {
      end->ah.emplace(*end->host->device->create_ah(end->host->pds[end->pd], attr.ah_attr));
    }
  }
  return true;
}

/// An end has seen an error, or its peer is gone: after a while somebody clears up.
void World::break_connection(Connection& c) {
  if (!c.broken) {
    c.broken = true;
    c.repair_at = now() + Duration::from_us(c.prng.below(200));
  }
}

/// To ERR: everything posted is flushed, which is waited for.
void World::close_gently(Connection& c) {
  for (End* end : {&c.a, &c.b}) {
    if (!end->gone) {
      end->erring = true;
      ibv_qp_attr attr{};
      attr.qp_state = IBV_QPS_ERR;
      modify(*end, attr, IBV_QP_STATE);
      post_marker(*end);
    }
  }
  c.phase = Connection::Phase::closing;
  c.broken = true;
  c.closed_by = now() + Duration::from_ms(20) + options_.turn * 1000;
  for (const auto& host : hosts_) {
    c.closed_by = std::max(c.closed_by, host->starved_until + Duration::from_ms(20));
  }
}

void World::close_at_once(Connection& c) {
  const bool a_first = c.prng.chance(0.5);
  for (End* end : {a_first ? &c.a : &c.b, a_first ? &c.b : &c.a}) {
    if (!end->gone) {
      disturb(*end->host);
      end->host->ends.erase(end->qpn);
      end->qp.reset();
      retire(*end);
    }
  }
  finish(c);
}

/// The same queue pairs, from RESET on, with what is otherwise a new connection.
void World::reset_both(Connection& c) {
  for (End* end : {&c.a, &c.b}) {
    disturb(*end->host);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RESET;
    if (!modify(*end, attr, IBV_QP_STATE)) {
      return;
    }
    end->host->ends.erase(end->qpn);
    retire(*end);
  }
  finish(c);
  connections_.push_back(std::make_unique<Connection>(c.prng.next()));
  Connection& fresh = *connections_.back();
  fresh.pmtu = c.pmtu;
  fresh.ipv6 = c.ipv6;
  fresh.a.connection = fresh.b.connection = &fresh;
  fresh.a.peer = &fresh.b;
  fresh.b.peer = &fresh.a;
  for (size_t side = 0; side < 2; ++side) {
    End& from = side == 0 ? c.a : c.b;
    End& to = side == 0 ? fresh.a : fresh.b;
    to.host = from.host;
    to.type = from.type;
    to.qpn = from.qpn;
    to.pd = from.pd;
    to.send_cq = from.send_cq;
    to.recv_cq = from.recv_cq;
    to.shared = from.shared;
    to.signal_all = from.signal_all;
    if (!reserve_window(to)) {
      return;
    }
    fresh.psn[side] = (c.psn[side] + kPsnStride) % kPsns;
    to.qp = std::move(from.qp);
    from.qp.reset();
    to.host->ends[to.qpn] = &to;
    if (to.type != IBV_QPT_RC) {
      to.outbox = from.outbox;  // a late one may still arrive
    }
    to.left = from.left;
    for (size_t group = 0; group < kMaxGroups; ++group) {
      to.joined[group] = from.joined[group] != 0 ? next_id_++ : 0;  // it has been away a moment
    }
  }
  if (make_ready(fresh)) {
    fill_receives(fresh.a);
    fill_receives(fresh.b);
  }
}

/// What may be written into the end's window by requests that have not completed.
std::vector<Effect> World::effects_on(const End& end) const {
  std::vector<Effect> effects = end.peer->ghosts;
  for (const SendRecord& record : end.peer->sends) {
    if (is_write(record.op)) {
      effects.push_back(record.effect);
    }
  }
  return effects;
}

void World::settle_window(End& end) {
  if (options_.forged()) {
    end.host->memory->adopt(end.window);
    return;
  }
  const std::string wrong = end.host->memory->settle(end.window, effects_on(end));
  if (!wrong.empty()) {
    fail("window of " + describe(end) + ": " + wrong);
  }
}

/// The queue pair has been reset or destroyed: nothing more happens to its memory, and nothing more
/// completes.
void World::retire(End& end) {
  if (ScriptWriter* const scribe = scribe_of(end)) {
    scribe->stop();
  }
  settle_window(end);
  for (const ReceiveRecord& record : end.receives) {
    adopt(*end.host, record.pieces);
    release(*end.host, record.slot);
  }
  end.receives.clear();
  for (SendRecord& record : end.sends) {
    retire_send(end, record);
  }
  end.sends.clear();
  end.gone = true;
  end.marker_due = false;
  end.resume_at = kNever;
  break_connection(*end.connection);
}

/// Nobody knows whether it was executed, unless it stands behind one that was refused.
void World::retire_send(End& end, SendRecord& record) {
  if (is_atomic(record.op) && !end.refused && !end.peer->crashed) {
    end.peer->host->log[record.word].unknown(record.atomic);
  }
  if (is_write(record.op) && !end.refused && !end.peer->gone) {
    end.ghosts.push_back(record.effect);
  }
  if (takes_data(record.op)) {
    adopt(*end.host, record.pieces);
  }
  release(*end.host, record.slot);
}

void World::finish(Connection& c) {
  for (End* end : {&c.a, &c.b}) {
    end->mw.reset();
    end->mr.reset();
    end->ah.reset();
    end->group_ahs = {};
    if (!end->crashed) {
      end->host->space->give(end->window);
    }
  }
  c.phase = Connection::Phase::closed;
}

/// Ends a connection on whose way out everything was flushed.
void World::close_flushed(Connection& c) {
  // What was lost with an overrun is waited for in vain.
  const auto flushed = [&](const End& end) {
    return (end.sends.empty() && end.receives.empty()) || (end.overrun && now() >= c.closed_by);
  };
  if (flushed(c.a) && flushed(c.b)) {
    close_at_once(c);
  } else if (now() >= c.closed_by) {
    fail("not everything was flushed: " + describe(flushed(c.a) ? c.b : c.a));
  }
}

/// The end of a pause, when it is due.
void World::resume(End& end) {
  if (now() < end.resume_at) {
    return;
  }
  end.resume_at = kNever;
  if (!end.gone && end.qp->query().qp_state == IBV_QPS_SQD) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTS;
    modify(end, attr, IBV_QP_STATE);
  }
}

/// Repairs what is broken, goes on with what was paused, ends what has been flushed.
void World::look_after(Connection& c) {
  for (End* end : {&c.a, &c.b}) {
    if (end->marker_due) {
      post_marker(*end);
    }
  }
  if (c.phase == Connection::Phase::closing) {
    close_flushed(c);
    return;
  }
  if (c.phase == Connection::Phase::closed) {
    return;
  }
  for (End* end : {&c.a, &c.b}) {
    resume(*end);
  }
  if (now() >= c.repair_at) {
    c.repair_at = kNever;
    const uint64_t seed = c.prng.next();
    if (c.prng.chance(0.6)) {
      close_gently(c);
    } else {
      close_at_once(c);
    }
    if (!draining_ && !failed()) {
      connect_new(seed);
    }
  }
}

}  // namespace roce::swarm
