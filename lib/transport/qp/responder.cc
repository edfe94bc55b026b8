// Judging and executing requests. Order of the checks: sequence, right, resources, length, key,
// then execution (spec/error-behaviour.md 1.2).
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/responder.h"

#include <cstring>

#include "base/limits.h"
#include "qp/packet_length.h"

namespace roce {
namespace {

using wire::NakCode;
using wire::Verb;

constexpr NakCode kInvalid = NakCode::invalid_request;
constexpr CompletionStatus kRemoteInvalid = CompletionStatus::remote_invalid_request;
constexpr RequestOutcome kExecuted{RequestOutcome::Kind::executed};
constexpr RequestOutcome kNotReady{RequestOutcome::Kind::receiver_not_ready};

constexpr RequestOutcome refuse(NakCode nak, CompletionStatus local) {
  return {nak, local};
}
constexpr RequestOutcome kRefusedAsInvalid = refuse(kInvalid, kRemoteInvalid);
constexpr RequestOutcome kRefusedAccess =
    refuse(NakCode::remote_access_error, CompletionStatus::remote_access_error);

/// Requests with a response of their own, which acknowledges everything before it, too.
constexpr bool has_own_response(Verb verb) {
  return verb != Verb::send && verb != Verb::write;
}

}  // namespace

void Responder::reset(Psn expected) {
  expected_ = expected;
  msn_ = 0;
  answer_ = Answer::none;
  ack_waited_ = 0;
  gap_nak_sent_ = rnr_nak_sent_ = urgent_ = false;
  established_ = follows_data_ = false;
  open_ = Open::nothing;
  held_.clear();
  gap_deadline_ = kNever;
  replies_.reset(core_.attr.max_dest_rd_atomic);
}

DropReason Responder::on_request(Instant now, const wire::Packet& packet, RegionTable& regions) {
  const int32_t distance = packet.psn.since(expected_);
  if (distance != 0) {
    return distance > 0 ? on_ahead(now, packet, distance, regions) : on_duplicate(packet);
  }
  const bool repaired = gap_nak_sent_;
  take(packet, regions);
  if (!held_.empty()) [[unlikely]] {
    take_held(regions);
    watch_gap(now, repaired);
  }
  return DropReason::none;
}

/// Executes the packet that is expected.
void Responder::take(const wire::Packet& packet, RegionTable& regions) {
  gap_nak_sent_ = rnr_nak_sent_ = false;
  const RequestOutcome outcome = execute(packet, regions);
  switch (outcome.kind()) {
    case RequestOutcome::Kind::executed:
      note_established();
      if ((core_.events & kEventRecvCqOverrun) != 0) {
        silence();  // R16: its completion was lost, so nothing is acknowledged
      } else if (has_own_response(packet.info->verb)) {
        answer_ = Answer::none;
      } else if (packet.ack_req) {
        answer_ = Answer::ack;
      }
      break;
    case RequestOutcome::Kind::receiver_not_ready:
      ++core_.counters.rnr_naks_sent;
      rnr_nak_sent_ = true;
      answer_ = Answer::nak;
      syndrome_ = wire::rnr_syndrome(core_.attr.min_rnr_timer);
      break;
    case RequestOutcome::Kind::refused:
      refuse_request(outcome);
      break;
  }
}

/// The first message before the application has made the QP ready to send tells it to do so.
void Responder::note_established() {
  if (!established_) [[unlikely]] {
    established_ = true;
    if (core_.now_in() == QpState::rtr) {
      core_.events |= kEventEstablished;
    }
  }
}

DropReason Responder::on_duplicate(const wire::Packet& packet) {
  ++core_.counters.duplicate_requests;
  if (!packet.info->known) {
    return DropReason::duplicate_request;
  }
  switch (packet.info->verb) {
    case Verb::send:
    case Verb::write:
      if (answer_ == Answer::none) {
        answer_ = Answer::ack;  // R2: the newest, whatever the duplicate's PSN
      }
      return DropReason::none;
    case Verb::read:
      return on_duplicate_read(packet);
    case Verb::atomic:
    case Verb::atomic_write:
    case Verb::flush: {
      Reply* const reply = replies_.find(packet.psn);
      const ReplyKind kind =
          packet.info->verb == Verb::atomic ? ReplyKind::atomic : ReplyKind::empty;
      if (reply == nullptr || reply->kind != kind) {
        return DropReason::duplicate_request;
      }
      replies_.replay(*reply, 0, 1);  // R5: never executed again
      return DropReason::none;
    }
    default:
      return DropReason::duplicate_request;
  }
}

/// R3, R4: executed again when it asks for the original range or a part of it.
DropReason Responder::on_duplicate_read(const wire::Packet& packet) {
  Reply* const reply = replies_.find(packet.psn);
  if (reply == nullptr || reply->kind != ReplyKind::read) {
    return DropReason::duplicate_request;
  }
  const wire::Reth reth = packet.reth();
  const uint32_t begin = (packet.psn - reply->first_psn.value()).value();
  const uint64_t offset = uint64_t{begin} << core_.attr.pmtu_shift;
  const uint64_t end_offset = offset + reth.dma_length;
  if (reth.rkey != reply->rkey || reth.va != reply->va + offset || end_offset > reply->length) {
    return DropReason::duplicate_request;
  }
  const uint64_t packets = (uint64_t{reth.dma_length} + core_.pmtu() - 1) >> core_.attr.pmtu_shift;
  const uint32_t end = begin + (packets > 0 ? static_cast<uint32_t>(packets) : 1);
  reply->end_offset = static_cast<uint32_t>(end_offset);
  replies_.replay(*reply, begin, end);
  return DropReason::none;
}

RequestOutcome Responder::execute(const wire::Packet& packet, RegionTable& regions) {
  if (!packet.info->known || !in_sequence(packet)) {
    return kRefusedAsInvalid;  // R8, R7
  }
  switch (packet.info->verb) {
    case Verb::send:
      return on_send(packet, regions);
    case Verb::write:
      return on_write(packet, regions);
    case Verb::read:
      return on_read(packet, regions);
    case Verb::atomic:
      return on_atomic(packet, regions);
    case Verb::atomic_write:
      return on_atomic_write(packet, regions);
    case Verb::flush:
      return on_flush(packet, regions);
    default:
      return kRefusedAsInvalid;
  }
}

bool Responder::in_sequence(const wire::Packet& packet) const {
  if (packet.info->first) {
    return open_ == Open::nothing;
  }
  return packet.info->verb == Verb::send ? open_ == Open::send : open_ == Open::write;
}

RequestOutcome Responder::on_send(const wire::Packet& packet, RegionTable& regions) {
  if (packet.info->first && !receiver_.open()) {
    return kNotReady;
  }
  if (!length_fits(packet, core_.pmtu())) {
    return kRefusedAsInvalid;
  }
  if (packet.payload_len > receiver_.room()) {
    return refuse(kInvalid, CompletionStatus::local_length_error);
  }
  if (receiver_.place(regions, packet.payload, packet.payload_len) != MemoryFault::none) {
    return refuse(NakCode::remote_operational_error, CompletionStatus::local_protection_error);
  }
  open_ = packet.info->last ? Open::nothing : Open::send;
  expected_ = expected_ + 1;
  if (packet.info->last) {
    finish_message(packet, regions);
  }
  return kExecuted;
}

RequestOutcome Responder::on_write(const wire::Packet& packet, const RegionTable& regions) {
  if (!allows(core_.attr.access, Access::remote_write)) {
    return kRefusedAsInvalid;
  }
  if (packet.info->imm && !receiver_.open()) {
    return kNotReady;
  }
  if (!length_fits(packet, core_.pmtu())) {
    return kRefusedAsInvalid;
  }
  switch (write_.take(packet, regions, user())) {
    case WriteTarget::Fault::none:
      break;
    case WriteTarget::Fault::length:
      return kRefusedAsInvalid;
    case WriteTarget::Fault::access:
      return kRefusedAccess;
  }
  open_ = packet.info->last ? Open::nothing : Open::write;
  expected_ = expected_ + 1;
  if (packet.info->last) {
    msn_ = (msn_ + 1) & Psn::kMask;
    if (packet.info->imm) {
      Cqe cqe = receive_completion(packet, core_.remote_qpn);
      cqe.byte_len = write_.length();
      receiver_.complete(cqe);
    }
  }
  return kExecuted;
}

RequestOutcome Responder::on_read(const wire::Packet& packet, const RegionTable& regions) {
  if (!allows(core_.attr.access, Access::remote_read) || packet.payload_len != 0 ||
      packet.pad_count != 0) {
    return kRefusedAsInvalid;
  }
  const wire::Reth reth = packet.reth();
  if (reth.dma_length > kMaxMessage) {
    return kRefusedAsInvalid;
  }
  if (reth.dma_length > 0 && regions.resolve_remote(reth.rkey, user(), reth.va, reth.dma_length,
                                                    Access::remote_read) == nullptr) {
    return kRefusedAccess;
  }
  const uint64_t packets = (uint64_t{reth.dma_length} + core_.pmtu() - 1) >> core_.attr.pmtu_shift;
  // C9-148: the message counts from the start of its execution.
  Reply* const reply =
      new_reply(packet, ReplyKind::read, packets > 0 ? static_cast<uint32_t>(packets) : 1);
  if (reply == nullptr) {
    return kRefusedAsInvalid;
  }
  reply->va = reth.va;
  reply->rkey = reth.rkey;
  reply->length = reply->end_offset = reth.dma_length;
  return kExecuted;
}

RequestOutcome Responder::on_atomic(const wire::Packet& packet, const RegionTable& regions) {
  const wire::AtomicEth eth = packet.atomic_eth();
  if (!allows(core_.attr.access, Access::remote_atomic) || packet.payload_len != 0 ||
      packet.pad_count != 0 || (eth.va & 7) != 0) {
    return kRefusedAsInvalid;  // R8, R12, R9
  }
  uint8_t* const at =
      regions.resolve_remote(eth.rkey, user(), eth.va, sizeof(uint64_t), Access::remote_atomic);
  // An aligned address in a region whose memory is not aligned cannot be served atomically.
  if (at == nullptr || (reinterpret_cast<uintptr_t>(at) & 7) != 0) {
    return kRefusedAccess;
  }
  Reply* const reply = new_reply(packet, ReplyKind::atomic, 1);
  if (reply == nullptr) {
    return kRefusedAsInvalid;
  }
  std::atomic_ref<uint64_t> target(*reinterpret_cast<uint64_t*>(at));
  if (packet.operation() == wire::Operation::fetch_add) {
    reply->original = target.fetch_add(eth.swap_or_add, std::memory_order_acq_rel);
  } else {
    uint64_t found = eth.compare;
    target.compare_exchange_strong(found, eth.swap_or_add, std::memory_order_acq_rel);
    reply->original = found;
  }
  return kExecuted;
}

/// ATOMIC WRITE: 8 bytes, seen by others whole or not at all.
RequestOutcome Responder::on_atomic_write(const wire::Packet& packet, const RegionTable& regions) {
  const wire::Reth reth = packet.reth();
  uint64_t value = 0;
  if (!allows(core_.attr.access, Access::remote_write) || packet.payload_len != sizeof value ||
      packet.pad_count != 0 || reth.dma_length != sizeof value || (reth.va & 7) != 0) {
    return kRefusedAsInvalid;
  }
  uint8_t* const at =
      regions.resolve_remote(reth.rkey, user(), reth.va, sizeof value, Access::remote_write);
  if (at == nullptr || (reinterpret_cast<uintptr_t>(at) & 7) != 0) {
    return kRefusedAccess;
  }
  if (new_reply(packet, ReplyKind::empty, 1) == nullptr) {
    return kRefusedAsInvalid;
  }
  std::memcpy(&value, packet.payload, sizeof value);
  std::atomic_ref(*reinterpret_cast<uint64_t*>(at)).store(value, std::memory_order_release);
  return kExecuted;
}

/// FLUSH: what was written before is visible to all once it is answered. Packets are executed in
/// order by one thread, so a fence is all there is to do; memory that survives a power cut cannot
/// be registered.
RequestOutcome Responder::on_flush(const wire::Packet& packet, const RegionTable& regions) {
  const wire::Feth feth = packet.feth();
  if (!allows(core_.attr.access, Access::flush_global) || packet.payload_len != 0 ||
      packet.pad_count != 0 || feth.placement != wire::Feth::kGlobalVisibility ||
      feth.selectivity > wire::Feth::kWholeRegion) {
    return kRefusedAsInvalid;
  }
  const wire::Reth reth = packet.reth();
  const MemoryRegion* const region = regions.find(reth.rkey);
  const bool whole = feth.selectivity == wire::Feth::kWholeRegion;
  const uint64_t va = whole && region != nullptr ? region->va : reth.va;
  const uint64_t length = whole ? 0 : reth.dma_length;
  if (regions.resolve_remote(reth.rkey, user(), va, length, Access::flush_global) == nullptr) {
    return kRefusedAccess;
  }
  if (new_reply(packet, ReplyKind::empty, 1) == nullptr) {
    return kRefusedAsInvalid;
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return kExecuted;
}

/// Counts the request as executed and queues its response; nullptr when the peer has more in flight
/// than was agreed (R10).
Reply* Responder::new_reply(const wire::Packet& packet, ReplyKind kind, uint32_t psn_count) {
  Reply* const reply = replies_.push();
  if (reply == nullptr) {
    return nullptr;
  }
  msn_ = (msn_ + 1) & Psn::kMask;
  reply->kind = kind;
  reply->first_psn = packet.psn;
  reply->psn_count = reply->end = psn_count;
  reply->msn = msn_;
  expected_ = expected_ + psn_count;
  return reply;
}

/// The last packet of a SEND has been executed.
void Responder::finish_message(const wire::Packet& packet, RegionTable& regions) {
  msn_ = (msn_ + 1) & Psn::kMask;
  Cqe cqe = receive_completion(packet, core_.remote_qpn);
  cqe.byte_len = receiver_.received();
  if (packet.info->ieth && !regions.invalidate(packet.ieth().rkey, user())) {
    // R15, class J: the message has arrived and is acknowledged, but its receiver is in error.
    cqe.status = kRemoteInvalid;
    receiver_.complete(cqe);
    core_.enter(QpState::err);
    return;
  }
  receiver_.complete(cqe);
}

/// Class C errors: a NAK, the receive WQE in use ends with an error, the QP is in error.
void Responder::refuse_request(const RequestOutcome& outcome) {
  answer_ = Answer::nak;
  syndrome_ = wire::nak_syndrome(outcome.nak());
  open_ = Open::nothing;
  if (receiver_.in_use()) {
    Cqe cqe;
    cqe.status = outcome.local();
    cqe.opcode = CompletionOpcode::receive;
    cqe.vendor_error = syndrome_;
    receiver_.complete(cqe);
  } else {
    core_.events |=
        outcome.nak() == NakCode::remote_access_error ? kEventAccessError : kEventRequestError;
  }
  core_.enter(QpState::err);
}

void Responder::silence() {
  answer_ = Answer::none;
  urgent_ = false;
  held_.clear();
  gap_deadline_ = kNever;
  replies_.reset(replies_.capacity());
}

}  // namespace roce
