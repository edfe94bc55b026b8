// What users post: requests drawn at random, and what the model must know of each.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "sim/swarm/draft.h"
#include "sim/swarm/world.h"

namespace roce::swarm {
namespace {

constexpr size_t kInline = 64;  // bytes

/// Makes one list of what is to be posted.
template <class Draft>
void chain(std::span<Draft> drafts) {
  for (size_t i = 0; i < drafts.size(); ++i) {
    drafts[i].wr.sg_list = drafts[i].sges.data();  // they have been moved
    drafts[i].wr.next = i + 1 < drafts.size() ? &drafts[i + 1].wr : nullptr;
  }
}

}  // namespace

Op World::choose_op(const End& end, Prng& prng) const {
  const Repertoire& r = options_.repertoire;
  std::vector<Op> ops = {Op::send};
  const auto add = [&ops](bool on, Op op) {
    if (on) {
      ops.push_back(op);
    }
  };
  add(r.immediate, Op::send_imm);
  if (end.type != IBV_QPT_UD) {
    ops.push_back(Op::write);
    add(r.immediate, Op::write_imm);
  }
  if (end.type == IBV_QPT_RC) {
    add(r.read, Op::read);
    add(r.read, Op::read);
    add(r.atomics, Op::fetch_add);
    add(r.atomics, Op::swap);
    add(r.atomic_write, Op::atomic_write);
    add(r.flush, Op::flush);
  }
  return ops[prng.below(static_cast<uint32_t>(ops.size()))];
}

/// Rather small, and at the edges of packets.
size_t World::choose_size(const End& end, Prng& prng) const {
  const size_t pmtu = end.type == IBV_QPT_UD ? 4096 : size_t{128} << end.connection->pmtu;
  const size_t most =
      end.type == IBV_QPT_UD ? std::min(options_.max_message, pmtu) : options_.max_message;
  size_t size = 0;
  switch (prng.below(6)) {
    case 0:
      size = prng.below(9);
      break;
    case 1:
      size = pmtu * (1 + prng.below(3)) - 1 + prng.below(3);
      break;
    case 2:
      size = prng.below(static_cast<uint32_t>(most) + 1);
      break;
    case 3:
      size = prng.below(16) == 0 ? most : prng.below(65);
      break;
    default:
      size = prng.below(200);
      break;
  }
  return std::min(size, most);
}

/// Cuts `size` bytes of the slot into pieces, with gaps if the slot is larger.
Pieces World::split(Range slot, size_t size, Prng& prng) const {
  Pieces pieces;
  pieces.count = options_.repertoire.splits ? 1 + prng.below(kMaxPieces) : 1;
  size_t at = slot.begin;
  size_t left = size;
  for (size_t i = 0; i < pieces.count; ++i) {
    const bool last = i + 1 == pieces.count;
    const size_t n = last ? left : prng.below(static_cast<uint32_t>(left) + 1);
    pieces.at[i] = {at, n};
    left -= n;
    const size_t room = slot.end() - at - n - left;
    at += n + (room > 0 ? prng.below(static_cast<uint32_t>(std::min<size_t>(room, 16)) + 1) : 0);
  }
  return pieces;
}

void World::draft_flags(End& end, Prng& prng, Draft& d) {
  const Repertoire& r = options_.repertoire;
  d.record.signaled = end.signal_all || prng.chance(0.6);
  d.record.fence = r.fences && prng.chance(0.2);
  const auto set = [&d](bool on, unsigned flag) { d.wr.send_flags |= on ? flag : 0; };
  set(d.record.signaled, IBV_SEND_SIGNALED);
  set(d.record.fence, IBV_SEND_FENCE);
  set(prng.chance(0.1), IBV_SEND_SOLICITED);
  const bool may = is_message(d.record.op) || d.record.op == Op::write;
  if (r.inlined && may && d.record.pieces.size() <= kInline && prng.chance(0.5)) {
    d.wr.send_flags |= IBV_SEND_INLINE;
  }
}

/// The slot, what is in it, and how SGEs describe it. False: no memory left.
bool World::draft_data(End& end, Prng& prng, Draft& d) {
  const Op op = d.record.op;
  const bool word = is_atomic(op) || op == Op::atomic_write;
  // A datagram to a group must be told from any other.
  const size_t least = d.group ? 8 : 0;
  const size_t size = word ? 8 : op == Op::flush ? 0 : std::max(choose_size(end, prng), least);
  d.record.slot = take(*end.host, size + (options_.repertoire.splits ? 32 : 0));
  if (d.record.slot.size == 0) {
    return false;
  }
  d.record.pieces = split(d.record.slot, size, prng);
  if (!takes_data(op)) {
    d.bytes.resize(size);
    for (size_t i = 0; i < size; i += 8) {
      const uint64_t noise = prng.next();
      std::memcpy(d.bytes.data() + i, &noise, std::min<size_t>(8, size - i));
    }
    size_t at = 0;
    for (size_t i = 0; i < d.record.pieces.count; ++i) {
      end.host->memory->fill(d.record.pieces.at[i], d.bytes.data() + at);
      at += d.record.pieces.at[i].size;
    }
  }
  return true;
}

void World::draft_remote(End& end, Prng& prng, Draft& d) {
  End& peer = *end.peer;
  const size_t size = d.record.pieces.size();
  size_t offset = prng.below(static_cast<uint32_t>(peer.window.size - size) + 1);
  if (d.record.op == Op::atomic_write) {
    offset -= offset % 8;
  }
  const bool by_window = peer.mw_state == WindowState::bound && prng.chance(0.5);
  d.wr.wr.rdma.remote_addr = peer.window_va + offset;
  d.wr.wr.rdma.rkey = by_window ? peer.mw_key : peer.rkey;
  const bool allowed = by_window || peer.mr;
  d.record.must_fail = !allowed && size > 0 && end.type == IBV_QPT_RC;
  if (!allowed) {
    end.connection->provoked = true;
  }
  if (is_write(d.record.op)) {
    d.record.effect = {peer.window.begin + offset, d.bytes};
  }
  d.record.from = peer.window.begin + offset;
}

void World::draft_atomic(End& end, Prng& prng, Draft& d) {
  d.record.word = prng.below(kWords);
  d.record.atomic.swap = d.record.op == Op::swap;
  d.record.atomic.operand = prng.next() | 1;
  if (d.record.atomic.swap) {
    // What it is most of the time, as far as the user can know.
    std::memcpy(&d.record.atomic.compare,
                end.peer->host->memory->actual() + d.record.word * sizeof(uint64_t),
                sizeof(uint64_t));
    d.record.atomic.compare ^= prng.below(3) == 0 ? 1 : 0;
  }
  d.wr.wr.atomic.remote_addr = kWordsVa + d.record.word * sizeof(uint64_t);
  d.wr.wr.atomic.rkey = end.peer->host->words[end.peer->pd].rkey();
  d.wr.wr.atomic.compare_add =
      d.record.atomic.swap ? d.record.atomic.compare : d.record.atomic.operand;
  d.wr.wr.atomic.swap = d.record.atomic.operand;
}

/// A request of any kind. False: it cannot be made now.
bool World::draft(End& end, Prng& prng, Draft& d) {
  const bool reaches = !end.peer->crashed;
  d.record.op = choose_op(end, prng);
  const bool remote = is_write(d.record.op) || d.record.op == Op::read || d.record.op == Op::flush;
  if ((remote && (end.peer->gone || (!end.peer->mr && !prng.chance(0.1)))) ||
      (is_atomic(d.record.op) && end.peer->gone) || !reaches) {
    d.record.op = Op::send;
  }
  if (end.type == IBV_QPT_UD && options_.groups > 0 && prng.chance(0.4)) {
    d.group = prng.below(static_cast<uint32_t>(options_.groups));
  }
  if (!draft_data(end, prng, d)) {
    return false;
  }
  draft_flags(end, prng, d);
  if (is_atomic(d.record.op)) {
    draft_atomic(end, prng, d);
  } else if (remote && d.record.op != Op::send) {
    draft_remote(end, prng, d);
  }
  if (is_message(d.record.op)) {
    d.message.emplace();
    d.message->write = d.record.op == Op::write_imm;
    d.message->bytes = d.message->write ? Bytes(d.bytes.size()) : d.bytes;
    if (d.record.op != Op::send) {
      d.wr.imm_data = static_cast<uint32_t>(prng.next());
      d.message->imm = d.wr.imm_data;
    }
    End& peer = *end.peer;
    if (d.record.op == Op::send && end.type == IBV_QPT_RC && peer.mw_type == IBV_MW_TYPE_2 &&
        peer.mw_state == WindowState::bound && prng.chance(0.2)) {
      d.record.op = Op::send_inv;
      d.wr.invalidate_rkey = peer.mw_key;
      d.message->invalidates = peer.mw_key;
      peer.mw_state = WindowState::dying;
      peer.disturbed = end.connection->provoked = true;
    }
    if (d.group) {
      d.wr.wr.ud = {way_to_group(end, *d.group), kGroupQpn, kQkey};
    } else if (end.type == IBV_QPT_UD) {
      d.wr.wr.ud = {end.ah->ibv(), peer.qpn, kQkey};
    }
  }
  d.wr.opcode = opcode_of(d.record.op);
  d.finish(*end.host, end.pd, next_id_++);
  return true;
}

void World::post_sends(End& end, Prng& prng) {
  if (end.sends.size() >= options_.depth) {
    return;
  }
  std::vector<Draft> drafts;
  const size_t count = prng.chance(0.7) ? 1 : 2 + prng.below(3);
  for (size_t i = 0; i < count; ++i) {
    Draft d;
    if (!draft(end, prng, d)) {
      break;
    }
    drafts.push_back(std::move(d));
  }
  post(end, drafts);
}

/// Posts lists; a FLUSH has a call of its own.
void World::post(End& end, std::vector<Draft>& drafts) {
  for (size_t begin = 0; begin < drafts.size() && !failed();) {
    size_t last = begin;
    const bool flush = drafts[begin].record.op == Op::flush;
    while (!flush && last + 1 < drafts.size() && drafts[last + 1].record.op != Op::flush) {
      ++last;
    }
    chain(std::span(drafts).subspan(begin, last - begin + 1));
    ibv_send_wr* bad = nullptr;
    const int rc = flush ? end.qp->post_flush(drafts[begin].flush_request())
                         : end.qp->post_send(&drafts[begin].wr, &bad);
    const bool full = end.sends.size() + (last - begin + 1) > options_.depth * 2 + 2;
    if (rc != 0 && (rc != ENOMEM || !full)) {
      fail("post_send on " + describe(end) + ": " + std::string(end.qp->post_error()));
      return;
    }
    if (rc == 0) {
      script_posts(end, std::span(drafts).subspan(begin, last - begin + 1));
    } else {
      refuse_script(*end.host, "a full send queue refuses requests");
    }
    for (size_t i = begin; i <= last; ++i) {
      if (rc != 0 && (flush || &drafts[i].wr == bad)) {
        return;
      }
      posted(end, drafts[i]);
    }
    begin = last + 1;
  }
}

void World::posted(End& end, Draft& d) {
  ++totals_.requests;
  say("post " + std::to_string(d.record.id) + " " + std::string(name_of(d.record.op)) + ", " +
      std::to_string(d.record.pieces.size()) + " bytes, on " + describe(end));
  if (d.message) {
    d.record.message = end.messages++;
    if (d.group) {
      group_sent_.push_back({*d.group, d.record.id, end.host, end.qpn, std::move(*d.message), {}});
    } else {
      end.outbox.push_back(std::move(*d.message));
    }
  }
  if (end.type != IBV_QPT_RC && is_write(d.record.op)) {
    end.ghosts.push_back(d.record.effect);
  }
  if ((d.wr.send_flags & IBV_SEND_INLINE) != 0) {
    // The library has its copy: the memory may change at once.
    for (size_t i = 0; i < d.record.pieces.count; ++i) {
      const Bytes other(d.record.pieces.at[i].size, 0x5a);
      end.host->memory->fill(d.record.pieces.at[i], other.data());
    }
  }
  end.sends.push_back(std::move(d.record));
}

/// A request that must not succeed.
void World::post_spoiled(End& end, Prng& prng) {
  if (end.sends.size() >= options_.depth || end.peer->gone) {
    return;
  }
  std::vector<Draft> drafts(1);
  Draft& d = drafts[0];
  d.record.op = end.type == IBV_QPT_UD || prng.chance(0.3) ? Op::send : Op::write;
  if (!draft_data(end, prng, d) || d.record.pieces.size() == 0) {
    release(*end.host, d.record.slot);
    return;
  }
  d.record.signaled = end.signal_all || prng.chance(0.5);
  d.wr.send_flags = d.record.signaled ? unsigned{IBV_SEND_SIGNALED} : 0;
  if (d.record.op == Op::write) {
    draft_remote(end, prng, d);
  } else {
    d.message.emplace().bytes = d.bytes;
    if (end.type == IBV_QPT_UD) {
      d.wr.wr.ud = {end.ah->ibv(), end.peer->qpn, kQkey};
    }
  }
  const bool remote = d.record.op == Op::write && end.type == IBV_QPT_RC && prng.chance(0.6);
  d.record.bad_local = !remote;
  d.record.must_fail = true;
  d.wr.opcode = opcode_of(d.record.op);
  d.finish(*end.host, end.pd, next_id_++);
  if (remote) {
    if (prng.chance(0.5)) {
      d.wr.wr.rdma.rkey ^= 1u << prng.below(32);
    } else {
      d.wr.wr.rdma.remote_addr =
          end.peer->window_va + end.peer->window.size - d.record.pieces.size() + 1 + prng.below(64);
    }
    d.record.effect = {};
  } else {
    for (ibv_sge& sge : d.sges) {
      sge.lkey ^= 1u << prng.below(32);
    }
  }
  end.connection->provoked = true;
  post(end, drafts);
}

/// An empty WRITE or SEND that completes: whatever is before it has completed then, too.
void World::post_marker(End& end) {
  if (end.gone) {
    return;
  }
  std::vector<Draft> drafts(1);
  Draft& d = drafts[0];
  d.record.op = end.type == IBV_QPT_UD ? Op::send : Op::write;
  d.wr.send_flags = IBV_SEND_SIGNALED;
  if (end.type == IBV_QPT_UD) {
    d.message.emplace();
    d.wr.wr.ud = {end.ah->ibv(), end.peer->qpn, kQkey};
  }
  d.wr.opcode = opcode_of(d.record.op);
  d.finish(*end.host, end.pd, next_id_++);
  d.wr.num_sge = 0;
  const size_t before = end.sends.size();
  post(end, drafts);
  end.marker_due = end.sends.size() == before;
}

}  // namespace roce::swarm
