// Extended completion queues: created with the fields that the program wants, polled entry by
// entry.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <ctime>

#include "objects.h"

namespace roce::ibv {
namespace {

constexpr uint64_t kFields = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM |
                             IBV_WC_EX_WITH_SRC_QP | IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL |
                             IBV_WC_EX_WITH_DLID_PATH_BITS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                             IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
constexpr uint64_t kTimes =
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
constexpr uint32_t kMasks = IBV_CQ_INIT_ATTR_MASK_FLAGS;
constexpr uint32_t kFlags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
/// Devices round up, and programs count on it: perftest with events leaves a completion in a queue
/// of one entry when it posts the next request.
constexpr uint32_t kLeastEntries = 64;

/// 0, or why the queue cannot be had.
int check(const ibv_context& context, const ibv_cq_init_attr_ex& attr) {
  if ((attr.comp_mask & ~kMasks) != 0 || (attr.wc_flags & ~kFields) != 0) {
    return EOPNOTSUPP;
  }
  if ((attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 && (attr.flags & ~kFlags) != 0) {
    return EOPNOTSUPP;
  }
  return attr.comp_vector >= static_cast<uint32_t>(context.num_comp_vectors) ? EINVAL : 0;
}

/// Takes the next completion into `current`; 0, ENOENT, or EOVERFLOW.
int take(Cq& cq) {
  const std::span<verbs::TimedCompletion> one(&cq.current, 1);
  int n = cq.native.poll_timed(one);
  if (n == 0) {
    Process::get().verbs().poll();
    n = cq.native.poll_timed(one);
  }
  if (n <= 0) {
    return n == 0 ? ENOENT : EOVERFLOW;
  }
  cq.ibv.wr_id = cq.current.wc.wr_id;
  cq.ibv.status = cq.current.wc.status;
  return 0;
}

int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) {
  if (attr != nullptr && attr->comp_mask != 0) {
    return EINVAL;
  }
  Cq& ours = from<Cq>(cq);
  ours.lock.lock();  // until end_poll
  const int rc = take(ours);
  if (rc != 0) {
    ours.lock.unlock();
  }
  return rc;
}

int next_poll(ibv_cq_ex* cq) {
  return take(from<Cq>(cq));
}

void end_poll(ibv_cq_ex* cq) {
  from<Cq>(cq).lock.unlock();
}

const ibv_wc& current(ibv_cq_ex* cq) {
  return from<Cq>(cq).current.wc;
}

/// The device's clock counts from its own start; what it is by the wall is found at reading.
uint64_t wallclock(ibv_cq_ex* cq) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const uint64_t wall =
      static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  return wall - (Process::get().endpoint().now().ns - from<Cq>(cq).current.timestamp_ns);
}

void fill_readers(ibv_cq_ex& cq) {
  cq.start_poll = start_poll;
  cq.next_poll = next_poll;
  cq.end_poll = end_poll;
  cq.read_opcode = [](ibv_cq_ex* c) { return current(c).opcode; };
  cq.read_vendor_err = [](ibv_cq_ex* c) { return current(c).vendor_err; };
  cq.read_byte_len = [](ibv_cq_ex* c) { return current(c).byte_len; };
  cq.read_imm_data = [](ibv_cq_ex* c) { return current(c).imm_data; };
  cq.read_qp_num = [](ibv_cq_ex* c) { return current(c).qp_num; };
  cq.read_src_qp = [](ibv_cq_ex* c) { return current(c).src_qp; };
  cq.read_wc_flags = [](ibv_cq_ex* c) { return current(c).wc_flags; };
  cq.read_slid = [](ibv_cq_ex* c) { return uint32_t{current(c).slid}; };
  cq.read_sl = [](ibv_cq_ex* c) { return current(c).sl; };
  cq.read_dlid_path_bits = [](ibv_cq_ex* c) { return current(c).dlid_path_bits; };
  cq.read_completion_ts = [](ibv_cq_ex* c) { return from<Cq>(c).current.timestamp_ns; };
  cq.read_completion_wallclock_ns = wallclock;
  // Fields that no queue here is created with.
  cq.read_cvlan = [](ibv_cq_ex*) { return uint16_t{0}; };
  cq.read_flow_tag = [](ibv_cq_ex*) { return uint32_t{0}; };
  cq.read_tm_info = [](ibv_cq_ex*, ibv_wc_tm_info* info) { *info = {}; };
}

}  // namespace

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr) {
  if (const int rc = check(*context, *attr); rc != 0) {
    return fail_with(rc);
  }
  verbs::CqOptions options;
  options.timestamps = (attr->wc_flags & kTimes) != 0;
  options.channel = attr->channel != nullptr ? &from<Channel>(attr->channel).native : nullptr;
  const uint32_t wanted = attr->cqe == 0 ? 0 : std::max(attr->cqe, kLeastEntries);
  const int entries = static_cast<int>(std::min<uint32_t>(wanted, INT32_MAX));
  auto made = Process::get().verbs().create_cq(entries, options);
  if (!made) {
    return fail_with(made.error().code);
  }
  auto* const cq = new Cq(std::move(*made));
  cq->ibv.context = context;
  cq->ibv.channel = attr->channel;
  cq->ibv.cq_context = attr->cq_context;
  cq->ibv.handle = cq->native.handle();
  cq->ibv.cqe = cq->native.capacity();
  pthread_mutex_init(&cq->ibv.mutex, nullptr);
  pthread_cond_init(&cq->ibv.cond, nullptr);
  fill_readers(cq->ibv);
  if (attr->channel != nullptr) {
    ++from<Channel>(attr->channel).users;
  }
  Process::get().cqs.add(cq->native.handle(), cq->plain());
  return &cq->ibv;
}

}  // namespace roce::ibv
