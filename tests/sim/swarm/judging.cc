// Completions: each is the one that is due, says what it may say, and finds the data in place.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>
#include <utility>

#include "sim/swarm/world.h"

namespace roce::swarm {
namespace {

std::string name_of_status(ibv_wc_status status) {
  return std::string(verbs::wc_status_name(status));
}

constexpr ibv_wc_opcode completion_of(Op op) {
  constexpr int kAtomicWrite = 9;  // IBV_WC_ATOMIC_WRITE and IBV_WC_FLUSH, which rdma-core 44 lacks
  constexpr int kFlush = 8;
  switch (op) {
    case Op::send:
    case Op::send_imm:
    case Op::send_inv:
      return IBV_WC_SEND;
    case Op::write:
    case Op::write_imm:
      return IBV_WC_RDMA_WRITE;
    case Op::read:
      return IBV_WC_RDMA_READ;
    case Op::fetch_add:
      return IBV_WC_FETCH_ADD;
    case Op::swap:
      return IBV_WC_COMP_SWAP;
    case Op::atomic_write:
      return static_cast<ibv_wc_opcode>(kAtomicWrite);
    case Op::flush:
      return static_cast<ibv_wc_opcode>(kFlush);
    case Op::bind:
      return IBV_WC_BIND_MW;
    case Op::invalidate:
      return IBV_WC_LOCAL_INV;
  }
  return IBV_WC_SEND;
}

}  // namespace

void World::on_sent(End& end, const ibv_wc& wc) {
  // A success comes before all that an overrun has taken.
  const bool gaps = end.overrun && wc.status != IBV_WC_SUCCESS;
  while (!failed() && !end.sends.empty() && end.sends.front().id != wc.wr_id) {
    SendRecord& silent = end.sends.front();
    if (gaps) {
      retire_send(end, silent);
      end.sends.pop_front();
      continue;
    }
    if (end.failed || silent.signaled) {
      fail("request " + std::to_string(silent.id) + " on " + describe(end) +
           " has no completion, a later one has");
      return;
    }
    SendRecord record = std::move(silent);
    end.sends.pop_front();
    succeed(end, record);
  }
  if (failed()) {
    return;
  }
  if (end.sends.empty()) {
    fail("a completion of request " + std::to_string(wc.wr_id) + " on " + describe(end) +
         ", which is not outstanding");
    return;
  }
  SendRecord record = std::move(end.sends.front());
  end.sends.pop_front();
  say("completed " + std::to_string(wc.wr_id) + " on " + describe(end) + ": " +
      name_of_status(wc.status));
  if (wc.status != IBV_WC_SUCCESS) {
    end_in_error(end, record, wc);
    return;
  }
  if (end.failed) {
    fail("a request after a failed one has succeeded on " + describe(end));
  } else if (!record.signaled) {
    fail("a request that was not signaled has a completion on " + describe(end));
  } else if (wc.opcode != completion_of(record.op)) {
    fail("a completion with opcode " + std::to_string(wc.opcode) + " of request " +
         std::to_string(record.id) + " on " + describe(end));
  } else {
    succeed(end, record);
  }
}

void World::succeed(End& end, SendRecord& record) {
  if (record.must_fail && !options_.forged() && (end.type == IBV_QPT_RC || record.bad_local)) {
    fail("request " + std::to_string(record.id) + " on " + describe(end) +
         " has succeeded, though its keys were wrong");
  }
  const bool judged = !options_.forged() && end.type == IBV_QPT_RC;
  if (is_message(record.op) && judged && !end.peer->gone && end.peer->received <= record.message) {
    fail("request " + std::to_string(record.id) + " on " + describe(end) +
         " is acknowledged, but its message was not received");
  }
  if (is_write(record.op)) {
    if (judged) {
      check_written(end, record);
    }
  } else if (record.op == Op::read) {
    check_read(end, record);
  } else if (is_atomic(record.op)) {
    note_atomic(end, record);
  } else if (record.op == Op::bind && end.mw_state == WindowState::binding) {
    end.mw_state = WindowState::bound;
  } else if (record.op == Op::invalidate) {
    end.mw_state = WindowState::dead;
  }
  release(*end.host, record.slot);
}

/// The peer's window holds the data, or that of WRITEs that were posted later.
void World::check_written(End& end, const SendRecord& record) {
  if (end.peer->crashed || end.connection->phase == Connection::Phase::closed) {
    return;
  }
  Memory& memory = *end.peer->host->memory;
  const Effect& e = record.effect;
  for (size_t i = 0; i < e.data.size(); ++i) {
    const size_t at = e.begin + i;
    const uint8_t value = memory.actual(at);
    const bool right = value == e.data[i] ||
                       std::any_of(end.sends.begin(), end.sends.end(), [&](const SendRecord& r) {
                         return is_write(r.op) && r.effect.may_make(at, value);
                       });
    if (!right) {
      fail("WRITE " + std::to_string(record.id) + " on " + describe(end) +
           " is complete, but byte " + std::to_string(at) + " does not hold its data");
      return;
    }
  }
  if (!end.peer->gone) {
    memory.expect(e.begin, e.data);
  }
}

/// What a READ has brought was in the peer's window: after all WRITEs posted before it, and perhaps
/// some that were posted behind it, up to a fence.
void World::check_read(End& end, const SendRecord& record) {
  const size_t size = record.pieces.size();
  const bool known = !options_.forged() && !end.peer->gone;
  const Bytes got = gather(*end.host, record.pieces, 0, size);
  for (size_t i = 0; known && i < size; ++i) {
    const size_t at = record.from + i;
    bool right = got[i] == end.peer->host->memory->expected(at);
    for (auto r = end.sends.begin(); !right && r != end.sends.end() && !r->fence; ++r) {
      right = is_write(r->op) && r->effect.may_make(at, got[i]);
    }
    if (!right) {
      fail("READ " + std::to_string(record.id) + " on " + describe(end) + " has brought byte " +
           std::to_string(at) + " with a value that was never there");
      return;
    }
  }
  adopt(*end.host, record.pieces);
}

void World::note_atomic(End& end, const SendRecord& record) {
  const Bytes got = gather(*end.host, record.pieces, 0, sizeof(uint64_t));
  if (!end.peer->crashed) {
    WordLog::Operation done = record.atomic;
    std::memcpy(&done.original, got.data(), sizeof done.original);
    end.peer->host->log[record.word].done(done);
  }
  adopt(*end.host, record.pieces);
}

bool World::tolerates(const End& end, const SendRecord& record, ibv_wc_status status) const {
  const bool upset = end.connection->broken || end.connection->provoked || options_.forged();
  const bool rc = end.type == IBV_QPT_RC;
  switch (status) {
    case IBV_WC_WR_FLUSH_ERR:
      return end.failed || end.erring || upset || options_.short_receives;
    case IBV_WC_RETRY_EXC_ERR:
      return rc && (rough_ || upset);
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return rc && (options_.rnr_retry < 7 || options_.forged());
    case IBV_WC_REM_ACCESS_ERR:
      return rc && (record.must_fail || end.peer->disturbed || options_.forged());
    case IBV_WC_REM_INV_REQ_ERR:
      return rc && (options_.short_receives || options_.forged());
    case IBV_WC_LOC_PROT_ERR:
      return record.bad_local;
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_MW_BIND_ERR:
      return (record.op == Op::bind || record.op == Op::invalidate) && upset;
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_BAD_RESP_ERR:
    case IBV_WC_LOC_LEN_ERR:
      return rc && options_.forged();
    default:
      return false;
  }
}

void World::end_in_error(End& end, SendRecord& record, const ibv_wc& wc) {
  if (!tolerates(end, record, wc.status)) {
    fail("request " + std::to_string(record.id) + " on " + describe(end) + " ended with \"" +
         name_of_status(wc.status) + "\", for which there is no reason");
  } else if (end.failed && wc.status != IBV_WC_WR_FLUSH_ERR) {
    fail("a request behind a failed one on " + describe(end) +
         " was not flushed: " + name_of_status(wc.status));
  }
  retire_send(end, record);
  if (!end.failed) {
    end.failed = true;
    // What follows a refused request is not executed. A refused READ may have been overtaken.
    const bool refusal = wc.status == IBV_WC_REM_ACCESS_ERR ||
                         wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_LOC_PROT_ERR;
    end.refused = refusal && record.op != Op::read && !options_.forged();
  }
  break_connection(*end.connection);
}

bool World::tolerates_receive(const End& end, ibv_wc_status status) const {
  const bool upset = end.connection->broken || end.connection->provoked || options_.forged() ||
                     options_.short_receives;
  switch (status) {
    case IBV_WC_WR_FLUSH_ERR:
      return end.failed || end.erring || upset;
    case IBV_WC_LOC_LEN_ERR:
      return options_.short_receives || options_.forged();
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
      return upset;
    default:
      return false;
  }
}

void World::on_received(End& end, const ibv_wc& wc) {
  std::deque<ReceiveRecord>& queue = end.shared != nullptr ? end.shared->posted : end.receives;
  if (end.overrun && wc.status != IBV_WC_SUCCESS) {
    give_up_receives(end, wc.wr_id);
  }
  const auto at = std::find_if(queue.begin(), queue.end(),
                               [&](const ReceiveRecord& r) { return r.id == wc.wr_id; });
  if (at == queue.end() || (end.shared == nullptr && at != queue.begin())) {
    fail("a completion of request " + std::to_string(wc.wr_id) + " on " + describe(end) +
         ", whose turn it is not");
    return;
  }
  const ReceiveRecord record = *at;
  queue.erase(at);
  say("received " + std::to_string(wc.wr_id) + ", " + std::to_string(wc.byte_len) + " bytes, on " +
      describe(end) + ": " + name_of_status(wc.status));
  if (wc.status != IBV_WC_SUCCESS) {
    if (!tolerates_receive(end, wc.status)) {
      fail("receive " + std::to_string(record.id) + " on " + describe(end) + " ended with \"" +
           name_of_status(wc.status) + "\", for which there is no reason");
    }
    adopt(*end.host, record.pieces);
    if (!end.erring) {
      break_connection(*end.connection);
    }
  } else if (options_.forged()) {
    adopt(*end.host, record.pieces);
  } else {
    match(end, record, wc);
  }
  release(*end.host, record.slot);
  if (!failed() && !end.erring && (draining_ || end.connection->prng.chance(0.8))) {
    fill_receives(end);
  }
}

bool World::matches(End& end, const ReceiveRecord& record, const ibv_wc& wc,
                    const Message& m) const {
  const size_t header = end.type == IBV_QPT_UD ? kGrh : 0;
  const bool imm = (wc.wc_flags & IBV_WC_WITH_IMM) != 0;
  const bool invalidates = (wc.wc_flags & IBV_WC_WITH_INV) != 0;
  if (m.write != (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM) || imm != m.imm.has_value() ||
      (imm && wc.imm_data != *m.imm) || invalidates != m.invalidates.has_value() ||
      (invalidates && wc.invalidated_rkey != *m.invalidates) ||
      wc.byte_len != m.bytes.size() + header) {
    return false;
  }
  return m.write || gather(*end.host, record.pieces, header, m.bytes.size()) == m.bytes;
}

/// A receive has succeeded: it is the peer's next message, or with UC and UD one of those sent.
void World::match(End& end, const ReceiveRecord& record, const ibv_wc& wc) {
  std::deque<Message>& outbox = end.peer->outbox;
  const bool rc = end.type == IBV_QPT_RC;
  const auto found =
      rc ? (!outbox.empty() && matches(end, record, wc, outbox.front()) ? outbox.begin()
                                                                        : outbox.end())
         : std::find_if(outbox.begin(), outbox.end(),
                        [&](const Message& m) { return matches(end, record, wc, m); });
  if (found == outbox.end() && !rc && take_copy(end, record, wc)) {
    adopt(*end.host, record.pieces);
    return;
  }
  if (found == outbox.end()) {
    fail("receive " + std::to_string(record.id) + " on " + describe(end) +
         " holds what its peer has not sent, or not next");
    return;
  }
  Memory& memory = *end.host->memory;
  if (!rc) {
    adopt(*end.host, record.pieces);  // messages that were given up may have left their traces
  } else if (!found->write) {
    size_t left = found->bytes.size();
    for (size_t i = 0; i < record.pieces.count; ++i) {
      const size_t n = std::min(left, record.pieces.at[i].size);
      memory.adopt({record.pieces.at[i].begin, n});
      left -= n;
    }
  }
  if (found->invalidates && end.mw_key == *found->invalidates) {
    end.mw_state = WindowState::dead;
  }
  ++end.received;
  if (rc) {
    outbox.pop_front();
  }
}

}  // namespace roce::swarm
