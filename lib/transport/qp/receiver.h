// Receiver: where the messages of a QP land that need a posted buffer: it takes the next receive
// WQE, from the QP's own queue or a shared one, fills it and completes it. The protocol's rules are
// its callers' affair. Thread: the engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "cq/completion_queue.h"
#include "memory/sge.h"
#include "qp/core.h"
#include "qp/shared_receive_queue.h"
#include "qp/work_queue.h"
#include "wire/packet.h"

namespace roce {

/// The completion of the message that `packet` ends, as far as it follows from the packet.
inline Cqe receive_completion(const wire::Packet& packet, uint32_t src_qp) {
  Cqe cqe;
  const bool send = packet.info->verb == wire::Verb::send;
  cqe.opcode = send ? CompletionOpcode::receive : CompletionOpcode::receive_rdma_with_imm;
  cqe.src_qp = src_qp;
  if (packet.info->imm) {
    cqe.flags = kCqeWithImm;
    cqe.imm_or_rkey = packet.imm().data;
  } else if (packet.info->ieth) {
    cqe.flags = kCqeWithInvalidate;
    cqe.imm_or_rkey = packet.ieth().rkey;
  }
  cqe.flags |= packet.solicited ? kCqeSolicited : 0;
  return cqe;
}

class Receiver {
 public:
  /// `own` is not used when the QP receives from a shared queue.
  Receiver(QpCore& core, RecvQueue& own) : core_(core), own_(own) {}

  /// Starts a message: takes a WQE. False when none is posted.
  bool open();
  /// A message is being received into a WQE.
  bool in_use() const { return in_use_; }
  /// Bytes that the message may still have. Requires in_use().
  uint32_t room() const { return wqe_->length - received_; }
  /// Bytes placed so far.
  uint32_t received() const { return received_; }

  /// Appends to the message; len <= room().
  MemoryFault place(const RegionTable& regions, const uint8_t* data, uint32_t len);
  /// Completes the message's WQE; wr_id and QPN are filled in here.
  void complete(Cqe& cqe);
  /// Gives the message up; its WQE serves for the next one.
  void abandon() { in_use_ = false; }

  /// Completes up to `limit` posted WQEs with a flush error; true when none is left. Those of a
  /// shared queue stay for other QPs, but for the one held here.
  bool flush(uint32_t limit);
  /// Forgets everything, without completions.
  void reset();

 private:
  void release();

  QpCore& core_;
  RecvQueue& own_;
  RecvWqe* wqe_ = nullptr;  // held: the front of the own queue, or taken from the shared one
  SgePosition at_;
  uint32_t received_ = 0;
  bool in_use_ = false;
};

}  // namespace roce
