// Posting: each work request is checked, then written into the ring as a WQE; the list's end
// publishes and rings the bell once.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <roce/verbs.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "objects.h"

namespace roce::verbs {
namespace {

using detail::QpState;

/// Remembers the reason and returns the errno.
int refuse(QpState& qp, int error, const char* reason) {
  qp.post_error = reason;
  return error;
}

bool opcode_supported(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
    case IBV_WR_RDMA_READ:
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return true;
    default:
      return false;
  }
}

bool takes_inline(ibv_wr_opcode opcode) {
  return opcode != IBV_WR_RDMA_READ && opcode != IBV_WR_ATOMIC_CMP_AND_SWP &&
         opcode != IBV_WR_ATOMIC_FETCH_AND_ADD;
}

uint64_t total_length(const ibv_sge* list, int count) {
  uint64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += list[i].length;
  }
  return sum;
}

/// 0, or the errno for which the request is refused.
int check_send(QpState& qp, const ibv_send_wr& wr, uint64_t length) {
  if (!opcode_supported(wr.opcode)) {
    return refuse(qp, EINVAL, "this opcode is not supported on an RC queue pair");
  }
  if (length > kMaxMessage) {
    return refuse(qp, EINVAL, "the message is longer than 2^31 bytes");
  }
  if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
    if (!takes_inline(wr.opcode)) {
      return refuse(qp, EINVAL, "IBV_SEND_INLINE goes with SEND and WRITE only");
    }
    if (length > qp.cap.max_inline_data) {
      return refuse(qp, EINVAL, "the inline data is longer than the queue pair's max_inline_data");
    }
  }
  if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    if (length < sizeof(uint64_t)) {
      return refuse(qp, EINVAL, "an atomic needs 8 bytes for its result");
    }
    if ((wr.wr.atomic.remote_addr & 7) != 0) {
      return refuse(qp, EINVAL, "the remote address of an atomic must be a multiple of 8");
    }
  }
  return 0;
}

/// The lists have one layout (compat.h).
template <class Wr>
void copy_sges(void* to, const Wr& wr) {
  if (wr.num_sge > 0) {
    std::memcpy(to, wr.sg_list, static_cast<size_t>(wr.num_sge) * sizeof(ibv_sge));
  }
}

void copy_inline(SendWqe& wqe, const ibv_send_wr& wr) {
  uint8_t* to = wqe.inline_data();
  for (int i = 0; i < wr.num_sge; ++i) {
    std::memcpy(to, reinterpret_cast<const void*>(wr.sg_list[i].addr), wr.sg_list[i].length);
    to += wr.sg_list[i].length;
  }
}

void fill(SendWqe& wqe, const ibv_send_wr& wr, uint32_t length) {
  wqe.wr_id = wr.wr_id;
  wqe.opcode = static_cast<SendOpcode>(wr.opcode);
  wqe.flags = static_cast<uint8_t>(wr.send_flags & 0x0f);
  wqe.length = length;
  wqe.imm_or_rkey = byteswap(wr.imm_data);
  switch (wqe.opcode) {
    case SendOpcode::compare_swap:
      wqe.set_swap(wr.wr.atomic.swap);
      [[fallthrough]];
    case SendOpcode::fetch_add:
      wqe.remote_addr = wr.wr.atomic.remote_addr;
      wqe.rkey = wr.wr.atomic.rkey;
      wqe.compare_or_add = wr.wr.atomic.compare_add;
      break;
    default:
      wqe.remote_addr = wr.wr.rdma.remote_addr;
      wqe.rkey = wr.wr.rdma.rkey;
      break;
  }
  if (wqe.is_inline()) {
    wqe.sge_count = 0;
    copy_inline(wqe, wr);
  } else {
    wqe.sge_count = static_cast<uint8_t>(wr.num_sge);
    copy_sges(&wqe.sge, wr);
  }
}

int post_one(QpState& qp, const ibv_send_wr& wr) {
  // Before the list is looked at: a wrong count must not lead past its end.
  if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > qp.cap.max_send_sge) {
    return refuse(qp, EINVAL, "num_sge is above the queue pair's max_send_sge");
  }
  const uint64_t length = total_length(wr.sg_list, wr.num_sge);
  if (const int rc = check_send(qp, wr, length); rc != 0) {
    return rc;
  }
  SendQueue& queue = qp.qp->send_queue();
  SendWqe* const wqe = queue.reserve();
  if (wqe == nullptr) {
    return refuse(qp, ENOMEM, "the send queue is full; poll completions first");
  }
  fill(*wqe, wr, static_cast<uint32_t>(length));
  queue.commit();
  return 0;
}

int post_one(QpState& qp, const ibv_recv_wr& wr) {
  if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > qp.cap.max_recv_sge) {
    return refuse(qp, EINVAL, "num_sge is above the queue pair's max_recv_sge");
  }
  const uint64_t length = total_length(wr.sg_list, wr.num_sge);
  if (length > UINT32_MAX) {
    return refuse(qp, EINVAL, "the receive buffers are longer than 2^32 - 1 bytes");
  }
  RecvQueue& queue = qp.qp->recv_queue();
  RecvWqe* const wqe = queue.reserve();
  if (wqe == nullptr) {
    return refuse(qp, ENOMEM, "the receive queue is full");
  }
  wqe->wr_id = wr.wr_id;
  wqe->sge_count = static_cast<uint32_t>(wr.num_sge);
  wqe->length = static_cast<uint32_t>(length);
  copy_sges(&wqe->sge, wr);
  queue.commit();
  return 0;
}

/// Posts the list until one request is refused.
template <class Wr>
int post_list(QpState& qp, Wr* wr, Wr** bad_wr) {
  int rc = 0;
  for (; wr != nullptr && rc == 0; wr = rc == 0 ? wr->next : wr) {
    rc = post_one(qp, *wr);
  }
  if (rc != 0) {
    *bad_wr = wr;
  }
  return rc;
}

}  // namespace

int Qp::post_send(ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  QpState& qp = *state_;
  const roce::QpState state = qp.qp->state();
  if (state < roce::QpState::rts) {
    *bad_wr = wr;
    return refuse(qp, EINVAL, "the queue pair does not take sends before it is in state RTS");
  }
  const int rc = post_list(qp, wr, bad_wr);
  qp.qp->send_queue().publish();
  qp.engine().ring(*qp.qp);
  return rc;
}

int Qp::post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  QpState& qp = *state_;
  if (qp.qp->state() == roce::QpState::reset) {
    *bad_wr = wr;
    return refuse(qp, EINVAL, "the queue pair does not take receives before it is in state INIT");
  }
  const int rc = post_list(qp, wr, bad_wr);
  qp.qp->recv_queue().publish();
  if (qp.qp->state() == roce::QpState::err) {
    qp.engine().ring(*qp.qp);  // to be flushed
  }
  return rc;
}

std::string_view Qp::post_error() const {
  return state_->post_error;
}

}  // namespace roce::verbs
