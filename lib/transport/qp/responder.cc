// Judging and executing requests. Order of the checks: sequence, right, resources, length, key,
// then execution (spec/error-behaviour.md 1.2).
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/responder.h"

#include <cstring>

#include "base/limits.h"

namespace roce {
namespace {

using wire::NakCode;
using wire::Verb;

constexpr NakCode kInvalid = NakCode::invalid_request;
constexpr CompletionStatus kRemoteInvalid = CompletionStatus::remote_invalid_request;
constexpr RequestOutcome kExecuted{};
constexpr RequestOutcome kNotReady{RequestOutcome::Kind::receiver_not_ready};

constexpr RequestOutcome refuse(NakCode nak, CompletionStatus local) {
  return {RequestOutcome::Kind::refused, nak, local};
}

}  // namespace

void Responder::reset(Psn expected) {
  expected_ = expected;
  msn_ = 0;
  answer_ = Answer::none;
  ack_ripe_ = false;
  gap_nak_sent_ = rnr_nak_sent_ = false;
  open_ = Open::nothing;
  receive_in_use_ = false;
  replies_.reset(core_.attr.max_dest_rd_atomic);
}

DropReason Responder::on_request(const wire::Packet& packet, const RegionTable& regions) {
  const int32_t distance = packet.psn.since(expected_);
  if (distance != 0) {
    return distance > 0 ? on_ahead() : on_duplicate(packet);
  }
  gap_nak_sent_ = rnr_nak_sent_ = false;
  const RequestOutcome outcome = execute(packet, regions);
  switch (outcome.kind) {
    case RequestOutcome::Kind::executed:
      if (packet.info->verb == Verb::read || packet.info->verb == Verb::atomic) {
        answer_ = Answer::none;  // its response acknowledges everything before it, too
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
  return DropReason::none;
}

DropReason Responder::on_ahead() {
  if (rnr_nak_sent_) {
    return DropReason::rnr_wait;
  }
  if (!gap_nak_sent_) {
    ++core_.counters.sequence_naks_sent;
    gap_nak_sent_ = true;
    answer_ = Answer::nak;
    syndrome_ = wire::nak_syndrome(NakCode::psn_sequence_error);
  }
  return DropReason::out_of_sequence;
}

DropReason Responder::on_duplicate(const wire::Packet& packet) {
  ++core_.counters.duplicate_requests;
  switch (packet.info->verb) {
    case Verb::send:
    case Verb::write:
      if (answer_ == Answer::none) {
        answer_ = Answer::ack;  // R2: the newest, whatever the duplicate's PSN
      }
      return DropReason::none;
    case Verb::read:
      return on_duplicate_read(packet);
    case Verb::atomic: {
      Reply* const reply = replies_.find(packet.psn);
      if (reply == nullptr || !reply->atomic) {
        return DropReason::duplicate_request;
      }
      replies_.replay(*reply, 0, 1);
      return DropReason::none;
    }
    default:
      return DropReason::duplicate_request;
  }
}

/// R3, R4: executed again when it asks for the original range or a part of it.
DropReason Responder::on_duplicate_read(const wire::Packet& packet) {
  Reply* const reply = replies_.find(packet.psn);
  if (reply == nullptr || reply->atomic) {
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

RequestOutcome Responder::execute(const wire::Packet& packet, const RegionTable& regions) {
  if (!packet.info->known || !in_sequence(packet)) {
    return refuse(kInvalid, kRemoteInvalid);  // R8, R7
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
    default:
      return refuse(kInvalid, kRemoteInvalid);
  }
}

bool Responder::in_sequence(const wire::Packet& packet) const {
  if (packet.info->first) {
    return open_ == Open::nothing;
  }
  return packet.info->verb == Verb::send ? open_ == Open::send : open_ == Open::write;
}

/// R12, as far as it needs nothing but the packet: FIRST and MIDDLE are full, LAST is not empty,
/// and the pad fills up to four bytes.
bool Responder::length_fits(const wire::Packet& packet) const {
  const uint32_t len = packet.payload_len;
  const wire::OpcodeInfo& info = *packet.info;
  if (packet.pad_count != (-len & 3)) {
    return false;
  }
  if (!info.last) {
    return len == core_.pmtu();
  }
  return len <= core_.pmtu() && (info.first || len > 0);
}

RequestOutcome Responder::on_send(const wire::Packet& packet, const RegionTable& regions) {
  if (packet.info->first) {
    if (!queue_.has(0)) {
      return kNotReady;
    }
    receive_in_use_ = true;
    received_ = 0;
    place_ = {};
  }
  if (!length_fits(packet)) {
    return refuse(kInvalid, kRemoteInvalid);
  }
  const RecvWqe& wqe = queue_.at(0);
  if (packet.payload_len > wqe.length - received_) {
    return refuse(kInvalid, CompletionStatus::local_length_error);
  }
  const uint8_t* from = packet.payload;
  const MemoryFault fault = walk({regions, core_.pd}, wqe.sges(), place_, packet.payload_len,
                                 Access::local_write, [&from](uint8_t* host, uint32_t n) {
                                   std::memcpy(host, from, n);
                                   from += n;
                                 });
  if (fault != MemoryFault::none) {
    return refuse(NakCode::remote_operational_error, CompletionStatus::local_protection_error);
  }
  received_ += packet.payload_len;
  open_ = packet.info->last ? Open::nothing : Open::send;
  expected_ = expected_ + 1;
  if (packet.info->last) {
    finish_message(packet);
  }
  return kExecuted;
}

RequestOutcome Responder::on_write(const wire::Packet& packet, const RegionTable& regions) {
  if (!allows(core_.attr.access, Access::remote_write)) {
    return refuse(kInvalid, kRemoteInvalid);
  }
  if (packet.info->imm) {
    if (!queue_.has(0)) {
      return kNotReady;
    }
    receive_in_use_ = true;
  }
  if (!length_fits(packet)) {
    return refuse(kInvalid, kRemoteInvalid);
  }
  if (packet.info->first) {
    const RequestOutcome opened = open_write(packet, regions);
    if (opened.kind != RequestOutcome::Kind::executed) {
      return opened;
    }
  }
  // LAST brings exactly what is missing, the others less.
  if (packet.info->last ? packet.payload_len != write_left_ : packet.payload_len >= write_left_) {
    return refuse(kInvalid, kRemoteInvalid);
  }
  if (packet.payload_len > 0) {
    uint8_t* const to =
        regions.resolve(write_rkey_, core_.pd, write_va_, packet.payload_len, Access::remote_write);
    if (to == nullptr) {
      return refuse(NakCode::remote_access_error, CompletionStatus::remote_access_error);
    }
    std::memcpy(to, packet.payload, packet.payload_len);
  }
  write_va_ += packet.payload_len;
  write_left_ -= packet.payload_len;
  open_ = packet.info->last ? Open::nothing : Open::write;
  expected_ = expected_ + 1;
  if (packet.info->last) {
    finish_message(packet);
  }
  return kExecuted;
}

/// Checks the whole range of a WRITE before its first byte is placed.
RequestOutcome Responder::open_write(const wire::Packet& packet, const RegionTable& regions) {
  const wire::Reth reth = packet.reth();
  if (reth.dma_length > kMaxMessage) {
    return refuse(kInvalid, kRemoteInvalid);
  }
  // R14: a WRITE of nothing needs no right to anything.
  if (reth.dma_length > 0 && regions.resolve(reth.rkey, core_.pd, reth.va, reth.dma_length,
                                             Access::remote_write) == nullptr) {
    return refuse(NakCode::remote_access_error, CompletionStatus::remote_access_error);
  }
  write_va_ = reth.va;
  write_rkey_ = reth.rkey;
  write_length_ = write_left_ = reth.dma_length;
  return kExecuted;
}

RequestOutcome Responder::on_read(const wire::Packet& packet, const RegionTable& regions) {
  if (!allows(core_.attr.access, Access::remote_read) || packet.payload_len != 0 ||
      packet.pad_count != 0) {
    return refuse(kInvalid, kRemoteInvalid);
  }
  const wire::Reth reth = packet.reth();
  if (reth.dma_length > kMaxMessage) {
    return refuse(kInvalid, kRemoteInvalid);
  }
  if (reth.dma_length > 0 && regions.resolve(reth.rkey, core_.pd, reth.va, reth.dma_length,
                                             Access::remote_read) == nullptr) {
    return refuse(NakCode::remote_access_error, CompletionStatus::remote_access_error);
  }
  Reply* const reply = replies_.push();
  if (reply == nullptr) {
    return refuse(kInvalid, kRemoteInvalid);  // R10
  }
  const uint64_t packets = (uint64_t{reth.dma_length} + core_.pmtu() - 1) >> core_.attr.pmtu_shift;
  msn_ = (msn_ + 1) & Psn::kMask;  // C9-148: at the start of the request
  reply->first_psn = packet.psn;
  reply->psn_count = packets > 0 ? static_cast<uint32_t>(packets) : 1;
  reply->end = reply->psn_count;
  reply->msn = msn_;
  reply->va = reth.va;
  reply->rkey = reth.rkey;
  reply->length = reply->end_offset = reth.dma_length;
  expected_ = expected_ + reply->psn_count;
  return kExecuted;
}

RequestOutcome Responder::on_atomic(const wire::Packet& packet, const RegionTable& regions) {
  const wire::AtomicEth eth = packet.atomic_eth();
  if (!allows(core_.attr.access, Access::remote_atomic) || packet.payload_len != 0 ||
      packet.pad_count != 0 || (eth.va & 7) != 0) {
    return refuse(kInvalid, kRemoteInvalid);  // R8, R12, R9
  }
  uint8_t* const at =
      regions.resolve(eth.rkey, core_.pd, eth.va, sizeof(uint64_t), Access::remote_atomic);
  // An aligned address in a region whose memory is not aligned cannot be served atomically.
  if (at == nullptr || (reinterpret_cast<uintptr_t>(at) & 7) != 0) {
    return refuse(NakCode::remote_access_error, CompletionStatus::remote_access_error);
  }
  Reply* const reply = replies_.push();
  if (reply == nullptr) {
    return refuse(kInvalid, kRemoteInvalid);  // R10
  }
  std::atomic_ref<uint64_t> target(*reinterpret_cast<uint64_t*>(at));
  if (packet.operation() == wire::Operation::fetch_add) {
    reply->original = target.fetch_add(eth.swap_or_add, std::memory_order_acq_rel);
  } else {
    uint64_t found = eth.compare;
    target.compare_exchange_strong(found, eth.swap_or_add, std::memory_order_acq_rel);
    reply->original = found;
  }
  msn_ = (msn_ + 1) & Psn::kMask;
  reply->atomic = true;
  reply->first_psn = packet.psn;
  reply->psn_count = reply->end = 1;
  reply->msn = msn_;
  expected_ = expected_ + 1;
  return kExecuted;
}

/// The last packet of a SEND or WRITE has been executed.
void Responder::finish_message(const wire::Packet& packet) {
  msn_ = (msn_ + 1) & Psn::kMask;
  if (!receive_in_use_) {
    return;
  }
  Cqe cqe;
  const bool send = packet.info->verb == Verb::send;
  cqe.opcode = send ? CompletionOpcode::receive : CompletionOpcode::receive_rdma_with_imm;
  cqe.byte_len = send ? received_ : write_length_;
  if (packet.info->imm) {
    cqe.flags |= kCqeWithImm;
    cqe.imm_or_rkey = packet.imm().data;
  }
  complete_receive(cqe);
}

void Responder::complete_receive(Cqe& cqe) {
  cqe.wr_id = queue_.at(0).wr_id;
  cqe.qpn = core_.qpn;
  cqe.src_qp = core_.remote_qpn;
  receive_in_use_ = false;
  queue_.release();
  if (!cq_.push(cqe)) {
    core_.events |= kEventRecvCqOverrun | kEventFatal;
    core_.enter(QpState::err);
  }
}

/// Class C errors: a NAK, the receive WQE in use ends with an error, the QP is in error.
void Responder::refuse_request(const RequestOutcome& outcome) {
  answer_ = Answer::nak;
  syndrome_ = wire::nak_syndrome(outcome.nak);
  open_ = Open::nothing;
  if (receive_in_use_) {
    Cqe cqe;
    cqe.status = outcome.local;
    cqe.opcode = CompletionOpcode::receive;
    cqe.vendor_error = syndrome_;
    complete_receive(cqe);
  } else {
    core_.events |=
        outcome.nak == NakCode::remote_access_error ? kEventAccessError : kEventRequestError;
  }
  core_.enter(QpState::err);
}

void Responder::silence() {
  answer_ = Answer::none;
  replies_.reset(replies_.capacity());
}

bool Responder::flush(uint32_t limit) {
  for (; limit > 0 && queue_.has(0); --limit) {
    Cqe cqe;
    cqe.status = CompletionStatus::flush_error;
    cqe.opcode = CompletionOpcode::receive;
    complete_receive(cqe);
  }
  return !queue_.has(0);
}

}  // namespace roce
