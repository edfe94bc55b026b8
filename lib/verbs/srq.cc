// Shared receive queues.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>
#include <utility>

#include <roce/verbs.h>

#include "base/limits.h"
#include "objects.h"
#include "post.h"

namespace roce::verbs {
namespace {

Status check_size(uint32_t max_wr) {
  if (max_wr == 0 || max_wr > kMaxSrqWr) {
    return failure(EINVAL, "max_wr is " + std::to_string(max_wr) + "; allowed are 1.." +
                               std::to_string(kMaxSrqWr));
  }
  return {};
}

}  // namespace

Result<Srq> Device::create_srq(const Pd& pd, const ibv_srq_attr& attr) {
  if (const Status s = check_size(attr.max_wr); !s) {
    return tl::make_unexpected(s.error());
  }
  if (attr.max_sge > kMaxSge) {
    return failure(EINVAL, "max_sge " + std::to_string(attr.max_sge) + " is above the limit " +
                               std::to_string(kMaxSge));
  }
  if (const Status s = state_->srqs.take(); !s) {
    return tl::make_unexpected(s.error());
  }
  return Srq(
      std::make_shared<detail::SrqState>(pd.state(), attr.max_wr, std::max(attr.max_sge, 1u)));
}

uint32_t Srq::handle() const {
  return state_->queue.id();
}

int Srq::post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  const int rc =
      post_receives(ReceiveTarget{state_->queue, state_->max_sge, state_->post_error}, wr, bad_wr);
  state_->queue.publish();
  return rc;
}

std::string_view Srq::post_error() const {
  return state_->post_error;
}

Status Srq::modify(const ibv_srq_attr& attr, int attr_mask) {
  if ((attr_mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) {
    return failure(EINVAL, "srq attribute mask " + std::to_string(attr_mask) +
                               "; use IBV_SRQ_MAX_WR (1), IBV_SRQ_LIMIT (2) or both");
  }
  const bool resizes = (attr_mask & IBV_SRQ_MAX_WR) != 0;
  const bool arms = (attr_mask & IBV_SRQ_LIMIT) != 0;
  if (resizes) {
    if (Status s = check_size(attr.max_wr); !s) {
      return s;
    }
  }
  SharedReceiveQueue& queue = state_->queue;
  const uint32_t entries = resizes ? attr.max_wr : queue.capacity();
  if (arms && attr.srq_limit > entries) {
    return failure(EINVAL, "srq_limit " + std::to_string(attr.srq_limit) +
                               " is above the queue's max_wr " + std::to_string(entries));
  }
  bool fits = true;
  state_->pd->device->driver.run([&] {
    fits = !resizes || queue.resize(entries);
    if (fits && arms) {
      queue.arm(attr.srq_limit);
    }
  });
  if (!fits) {
    return failure(EINVAL, "more than " + std::to_string(entries) +
                               " work requests are posted; let some be consumed first");
  }
  return {};
}

ibv_srq_attr Srq::query() const {
  ibv_srq_attr attr{};
  attr.max_sge = state_->max_sge;
  state_->pd->device->driver.run([&] {
    attr.max_wr = state_->queue.capacity();
    attr.srq_limit = state_->queue.limit();
  });
  return attr;
}

}  // namespace roce::verbs
