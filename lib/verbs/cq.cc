// Completion queues.
// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <utility>

#include <roce/verbs.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "objects.h"

namespace roce::verbs {
namespace {

constexpr uint8_t kFlagsOfTheirs = kCqeGrh | kCqeWithImm | kCqeWithInvalidate;

/// Field by field into its place: a copy would wait until all these stores are through.
void show(const Cqe& cqe, ibv_wc& wc) {
  wc.wr_id = cqe.wr_id;
  wc.status = static_cast<ibv_wc_status>(cqe.status);
  wc.opcode = static_cast<ibv_wc_opcode>(cqe.opcode);
  wc.vendor_err = cqe.vendor_error;
  wc.byte_len = cqe.byte_len;
  if ((cqe.flags & kCqeWithInvalidate) != 0) {
    wc.invalidated_rkey = cqe.imm_or_rkey;
  } else {
    wc.imm_data = byteswap(cqe.imm_or_rkey);
  }
  wc.qp_num = cqe.qpn;
  wc.src_qp = cqe.src_qp;
  wc.wc_flags = cqe.flags & kFlagsOfTheirs;
  wc.pkey_index = 0;
  wc.slid = 0;
  wc.sl = cqe.sl;
  wc.dlid_path_bits = 0;
}

Status check_entries(int entries) {
  if (entries < 1 || static_cast<uint32_t>(entries) > kMaxCqe) {
    return failure(EINVAL, "a completion queue of " + std::to_string(entries) +
                               " entries; allowed are 1.." + std::to_string(kMaxCqe));
  }
  return {};
}

/// What poll() returns: what take(), which polls the queue, returns. The overrun is told when the
/// queue is empty, so it is asked once more when that has become known: the last completions may
/// have come meanwhile.
template <class Take>
int poll_with(const CompletionQueue& queue, Take&& take) {
  size_t taken = take();
  if (taken == 0 && queue.overrun()) [[unlikely]] {
    taken = take();
    return taken == 0 ? -EOVERFLOW : static_cast<int>(taken);
  }
  return static_cast<int>(taken);
}

}  // namespace

Result<Cq> Device::create_cq(int entries, const CqOptions& options) {
  if (const Status s = check_entries(entries); !s) {
    return tl::make_unexpected(s.error());
  }
  if (const Status s = state_->cqs.take(); !s) {
    return tl::make_unexpected(s.error());
  }
  return Cq(std::make_shared<detail::CqState>(state_, static_cast<uint32_t>(entries), options));
}

uint32_t Cq::handle() const {
  return state_->handle;
}

int Cq::capacity() const {
  return static_cast<int>(state_->queue.capacity());
}

int Cq::poll(std::span<ibv_wc> out) {
  return poll_with(state_->queue, [&] {
    ibv_wc* to = out.data();
    return state_->queue.poll(out.size(), [&to](const Cqe& cqe) { show(cqe, *to++); });
  });
}

int Cq::poll_timed(std::span<TimedCompletion> out) {
  return poll_with(state_->queue, [&] {
    TimedCompletion* to = out.data();
    return state_->queue.poll_timed(out.size(), [&to](const Cqe& cqe, Instant at) {
      show(cqe, to->wc);
      to++->timestamp_ns = at.ns;
    });
  });
}

Status Cq::arm(bool solicited_only) {
  if (state_->channel == nullptr) {
    return failure(EINVAL, "the completion queue has no channel; create it with one");
  }
  state_->queue.arm(solicited_only);
  state_->device->driver.expect_wait();
  return {};
}

void Cq::ack_events(unsigned n) {
  state_->unacknowledged -= n;
}

unsigned Cq::unacknowledged_events() const {
  return state_->unacknowledged;
}

Status Cq::resize(int entries) {
  if (Status s = check_entries(entries); !s) {
    return s;
  }
  bool fits = false;
  detail::DeviceState& device = *state_->device;
  device.driver.run([&] {
    device.engine.poll(device.clock.now());     // what has been posted before may complete
    state_->queue.publish(device.clock.now());  // of those whose turn did not come in that poll
    fits = state_->queue.resize(static_cast<uint32_t>(entries));
  });
  if (!fits) {
    return failure(EINVAL, "the completion queue holds more than " + std::to_string(entries) +
                               " completions; poll some first");
  }
  return {};
}

}  // namespace roce::verbs
