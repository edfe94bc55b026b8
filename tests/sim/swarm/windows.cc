// Memory windows, and receives.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>
#include <utility>

#include "sim/swarm/draft.h"
#include "sim/swarm/world.h"

namespace roce::swarm {
namespace {

constexpr unsigned kWindowAccess = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | 1u << 8;

}  // namespace

/// Binds a window of either type to all of the end's window of memory.
void World::post_bind(End& end, Prng& prng) {
  if (end.mw_state != WindowState::none || !end.mr || end.read_only || end.type == IBV_QPT_UD ||
      end.sends.size() >= options_.depth || !options_.repertoire.windows) {
    return;
  }
  end.mw_type = prng.chance(0.5) ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2;
  auto mw = end.host->device->alloc_mw(end.host->pds[end.pd], end.mw_type);
  if (!mw) {
    fail("alloc_mw: " + mw.error().reason);
    return;
  }
  end.mw.emplace(std::move(*mw));
  end.mw_state = WindowState::binding;
  const ibv_mw_bind_info info{end.mr->ibv(), end.window_va, end.window.size, kWindowAccess};
  if (end.mw_type == IBV_MW_TYPE_2) {
    std::vector<Draft> drafts(1);
    Draft& d = drafts[0];
    d.record.op = Op::bind;
    d.wr.opcode = IBV_WR_BIND_MW;
    d.wr.send_flags = IBV_SEND_SIGNALED;
    d.wr.bind_mw.mw = end.mw->ibv();
    end.mw_key = d.wr.bind_mw.rkey = ibv_inc_rkey(end.mw->rkey());
    d.wr.bind_mw.bind_info = info;
    d.finish(*end.host, end.pd, next_id_++);
    post(end, drafts);
    return;
  }
  Draft d;
  d.record.op = Op::bind;
  d.record.id = next_id_++;
  ibv_mw_bind bind{};
  bind.wr_id = d.record.id;
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = info;
  if (end.qp->bind_mw(*end.mw, bind) != 0) {
    fail("bind_mw: " + std::string(end.qp->post_error()));
    return;
  }
  end.mw_key = end.mw->rkey();
  posted(end, d);
}

void World::post_invalidate(End& end) {
  if (end.mw_state != WindowState::bound || end.mw_type != IBV_MW_TYPE_2 ||
      end.sends.size() >= options_.depth) {
    return;
  }
  std::vector<Draft> drafts(1);
  Draft& d = drafts[0];
  d.record.op = Op::invalidate;
  d.wr.opcode = IBV_WR_LOCAL_INV;
  d.wr.send_flags = IBV_SEND_SIGNALED;
  d.wr.invalidate_rkey = end.mw_key;
  d.finish(*end.host, end.pd, next_id_++);
  end.mw_state = WindowState::dying;
  end.disturbed = end.connection->provoked = true;
  post(end, drafts);
}

/// What post_recv says.
int World::post_receive(End& end, const ReceiveRecord& record) {
  ibv_sge sges[kMaxPieces];
  for (size_t i = 0; i < record.pieces.count; ++i) {
    sges[i] = {kLocalVa + record.pieces.at[i].begin,
               static_cast<uint32_t>(record.pieces.at[i].size), end.host->local[end.pd].lkey()};
  }
  ibv_recv_wr wr{};
  wr.wr_id = record.id;
  wr.sg_list = sges;
  wr.num_sge = static_cast<int>(record.pieces.count);
  ibv_recv_wr* bad = nullptr;
  const int rc =
      end.shared != nullptr ? end.shared->srq.post_recv(&wr, &bad) : end.qp->post_recv(&wr, &bad);
  if (ScriptWriter* const scribe = scribe_of_request(end); scribe != nullptr && rc == 0) {
    scribe->on_receive(now(), record);
  }
  return rc;
}

/// Posts receives until the queue is as full as its user wants it.
void World::fill_receives(End& end) {
  if (end.gone) {
    return;
  }
  Host& host = *end.host;
  Prng& prng = end.connection->prng;
  std::deque<ReceiveRecord>& queue = end.shared != nullptr ? end.shared->posted : end.receives;
  const size_t header = end.type == IBV_QPT_UD || end.shared != nullptr ? kGrh : 0;
  // In the end, so many more that those which have gone are not missed.
  const size_t limit = end.shared != nullptr && draining_
                           ? std::min<size_t>(SharedReceives::kEntries, 2 * options_.depth + 4)
                           : options_.depth;
  while (queue.size() < limit && !failed()) {
    const bool small = options_.short_receives && prng.chance(0.1);
    const size_t size = header + (small ? options_.max_message / 2 : options_.max_message);
    ReceiveRecord record;
    record.slot = take(host, size + (options_.repertoire.splits ? 32 : 0));
    if (end.shared != nullptr) {
      end.shared->starved = record.slot.size == 0;
    }
    if (record.slot.size == 0) {
      return;
    }
    record.id = next_id_++;
    record.pieces = split(record.slot, size, prng);
    if (post_receive(end, record) != 0) {
      const std::string why(end.shared != nullptr ? end.shared->srq.post_error()
                                                  : end.qp->post_error());
      fail("post_recv on " + describe(end) + ": " + why);
      return;
    }
    queue.push_back(record);
  }
}

}  // namespace roce::swarm
