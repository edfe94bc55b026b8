// Placing and completing received messages.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/receiver.h"

#include <cstring>

namespace roce {

bool Receiver::open() {
  if (wqe_ == nullptr) {
    if (core_.shared_receives != nullptr) {
      wqe_ = core_.shared_receives->take();
    } else if (own_.has(0)) {
      wqe_ = &own_.at(0);
    }
    if (wqe_ == nullptr) {
      return false;
    }
  }
  in_use_ = true;
  received_ = 0;
  at_ = {};
  return true;
}

MemoryFault Receiver::place(const RegionTable& regions, const uint8_t* data, uint32_t len) {
  const MemoryFault fault = walk({regions, core_.pd}, wqe_->sges(), at_, len, Access::local_write,
                                 [&data](uint8_t* host, uint32_t n) {
                                   std::memcpy(host, data, n);
                                   data += n;
                                 });
  received_ += len;
  return fault;
}

void Receiver::complete(Cqe& cqe) {
  cqe.wr_id = wqe_->wr_id;
  cqe.qpn = core_.qpn;
  release();
  if (!core_.recv_cq->push(cqe)) {
    core_.lose_completion(kEventRecvCqOverrun);
  }
}

void Receiver::release() {
  if (core_.shared_receives != nullptr) {
    core_.shared_receives->give_back(wqe_);
  } else {
    own_.release();
  }
  wqe_ = nullptr;
  in_use_ = false;
}

bool Receiver::flush(uint32_t limit) {
  for (; limit > 0 && (wqe_ != nullptr || (core_.shared_receives == nullptr && own_.has(0)));
       --limit) {
    if (wqe_ == nullptr) {
      wqe_ = &own_.at(0);
    }
    Cqe cqe;
    cqe.status = CompletionStatus::flush_error;
    cqe.opcode = CompletionOpcode::receive;
    complete(cqe);
  }
  return wqe_ == nullptr && (core_.shared_receives != nullptr || !own_.has(0));
}

void Receiver::reset() {
  if (core_.shared_receives != nullptr && wqe_ != nullptr) {
    core_.shared_receives->give_back(wqe_);
  }
  wqe_ = nullptr;
  in_use_ = false;
  own_.clear();
}

}  // namespace roce
