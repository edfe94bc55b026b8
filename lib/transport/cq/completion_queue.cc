// What is rare: completions with an error, and those that find no room.
// SPDX-License-Identifier: BSD-3-Clause
#include "cq/completion_queue.h"

#include "base/trace.h"

namespace roce {

void CompletionQueue::note_failed(const Cqe& cqe) {
  trace::completion_error(cqe.qpn, cqe.wr_id, static_cast<uint32_t>(cqe.status), cqe.vendor_error);
}

void CompletionQueue::note_lost(const Cqe& cqe) {
  trace::cq_overrun(cqe.qpn, cqe.wr_id, capacity());
  pushed_ |= kLost;
}

}  // namespace roce
