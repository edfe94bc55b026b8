// Posting of receive work requests, to a queue pair's own queue or a shared one.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <infiniband/verbs.h>

#include "compat.h"
#include "qp/wqe.h"

namespace roce::verbs {

/// Sum of the lengths of a list.
inline uint64_t total_length(const ibv_sge* list, int count) {
  uint64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += list[i].length;
  }
  return sum;
}

/// A list of SGEs, whose layout is the same on both sides (compat.h).
template <class Wr>
void copy_sges(Sge& to, const Wr& wr) {
  if (wr.num_sge > 0) {
    std::memcpy(static_cast<void*>(&to), wr.sg_list,
                static_cast<size_t>(wr.num_sge) * sizeof(ibv_sge));
  }
}

/// Where receives are posted.
template <class Queue>
struct ReceiveTarget {
  Queue& queue;  ///< with reserve() and commit()
  uint32_t max_sge;
  const char*& error;  ///< set to the reason of a refusal
};

template <class Queue>
ReceiveTarget(Queue&, uint32_t, const char*&) -> ReceiveTarget<Queue>;

/// 0, or the errno for which the request was refused.
template <class Queue>
int post_receive(const ReceiveTarget<Queue>& target, const ibv_recv_wr& wr) {
  const auto refuse = [&target](int error, const char* reason) {
    target.error = reason;
    return error;
  };
  if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > target.max_sge) {
    return refuse(EINVAL, "num_sge is above the receive queue's max_sge");
  }
  const uint64_t length = total_length(wr.sg_list, wr.num_sge);
  if (length > UINT32_MAX) {
    return refuse(EINVAL, "the receive buffers are longer than 2^32 - 1 bytes");
  }
  RecvWqe* const wqe = target.queue.reserve();
  if (wqe == nullptr) {
    return refuse(ENOMEM, "the receive queue is full");
  }
  wqe->wr_id = wr.wr_id;
  wqe->sge_count = static_cast<uint32_t>(wr.num_sge);
  wqe->length = static_cast<uint32_t>(length);
  copy_sges(wqe->sge, wr);
  target.queue.commit();
  return 0;
}

/// Posts a list until one request is refused, which becomes *bad_wr. Nothing is published.
template <class Queue>
int post_receives(const ReceiveTarget<Queue>& target, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  for (; wr != nullptr; wr = wr->next) {
    if (const int rc = post_receive(target, *wr); rc != 0) {
      *bad_wr = wr;
      return rc;
    }
  }
  return 0;
}

}  // namespace roce::verbs
