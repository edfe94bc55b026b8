// Judging UC requests.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/uc_responder.h"

#include "qp/packet_length.h"

namespace roce {

using wire::Verb;

DropReason UcResponder::on_request(const wire::Packet& packet, const RegionTable& regions) {
  if (!packet.info->known) {
    return DropReason::unknown_opcode;
  }
  // A gap, or a repetition, breaks the message that is open; a new one may start at any PSN.
  const bool in_order = packet.psn == expected_;
  expected_ = packet.psn + 1;
  if (!packet.info->first && (!in_order || !continues(packet))) {
    return give_up(DropReason::broken_message);
  }
  if (packet.info->first && open_ != Open::nothing) {
    give_up(DropReason::broken_message);  // the one before stays incomplete
  }
  if (!length_fits(packet, core_.pmtu())) {
    return give_up(DropReason::length);
  }
  return packet.info->verb == Verb::send ? on_send(packet, regions) : on_write(packet, regions);
}

bool UcResponder::continues(const wire::Packet& packet) const {
  return open_ == (packet.info->verb == Verb::send ? Open::send : Open::write);
}

DropReason UcResponder::on_send(const wire::Packet& packet, const RegionTable& regions) {
  if (packet.info->first && !receiver_.open()) {
    return give_up(DropReason::no_receive_wqe);
  }
  if (packet.payload_len > receiver_.room()) {
    return give_up(DropReason::message_too_long);
  }
  if (receiver_.place(regions, packet.payload, packet.payload_len) != MemoryFault::none) {
    // R13 without a NAK: the posted buffer itself is wrong, which its owner has to learn.
    Cqe cqe;
    cqe.status = CompletionStatus::local_protection_error;
    cqe.opcode = CompletionOpcode::receive;
    receiver_.complete(cqe);
    core_.enter(QpState::err);
    return DropReason::access;
  }
  open_ = packet.info->last ? Open::nothing : Open::send;
  if (packet.info->last) {
    Cqe cqe = receive_completion(packet, core_.remote_qpn);
    cqe.byte_len = receiver_.received();
    receiver_.complete(cqe);
  }
  return DropReason::none;
}

DropReason UcResponder::on_write(const wire::Packet& packet, const RegionTable& regions) {
  if (!allows(core_.attr.access, Access::remote_write)) {
    return give_up(DropReason::access);
  }
  switch (write_.take(packet, regions, {core_.pd, core_.qpn})) {
    case WriteTarget::Fault::none:
      break;
    case WriteTarget::Fault::length:
      return give_up(DropReason::length);
    case WriteTarget::Fault::access:
      return give_up(DropReason::access);
  }
  open_ = packet.info->last ? Open::nothing : Open::write;
  if (packet.info->last && packet.info->imm) {
    if (!receiver_.open()) {
      return DropReason::no_receive_wqe;  // the data is there, the news of it is lost
    }
    Cqe cqe = receive_completion(packet, core_.remote_qpn);
    cqe.byte_len = write_.length();
    receiver_.complete(cqe);
  }
  return DropReason::none;
}

DropReason UcResponder::give_up(DropReason reason) {
  open_ = Open::nothing;
  receiver_.abandon();
  return reason;
}

}  // namespace roce
