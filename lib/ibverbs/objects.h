// The C objects that programs see, each with the native object behind it. A program's pointer is a
// pointer to the first member.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include <infiniband/verbs.h>
#include <roce/verbs.h>

#include "local_id.h"
#include "process.h"
#include "real.h"

namespace roce::ibv {

/// Verbs may be called by several threads on one object. Uncontended: one atomic exchange.
class SpinLock {
 public:
  void lock() {
    while (held_.exchange(true, std::memory_order_acquire)) {
      sched_yield();
    }
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

/// Events of an object that the program has got and not acknowledged: its destruction waits.
class UnackedEvents {
 public:
  void got() {
    const std::lock_guard lock(mutex_);
    ++open_;
  }
  void acked(unsigned n = 1) {
    {
      const std::lock_guard lock(mutex_);
      open_ -= n;
    }
    none_.notify_all();
  }
  void wait_for_none() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [this] { return open_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  unsigned open_ = 0;
};

struct Context {
  verbs_context verbs{};  // its last member is the ibv_context that programs see
};

inline bool is_ours(const ibv_context* context) {
  return context != nullptr && context->device == Process::get().device();
}

struct Pd {
  explicit Pd(verbs::Pd object) : native(std::move(object)) {}

  ibv_pd ibv{};
  verbs::Pd native;
  std::atomic<int> users{0};
};

struct Channel {
  explicit Channel(verbs::CompChannel object) : native(std::move(object)) {}

  ibv_comp_channel ibv{};
  verbs::CompChannel native;
  std::atomic<int> users{0};
};

struct Cq {
  explicit Cq(verbs::Cq object) : native(std::move(object)) {}

  ibv_cq_ex ibv{};  // the first members are those of ibv_cq
  verbs::Cq native;
  SpinLock lock;  // of polling
  std::atomic<int> users{0};
  UnackedEvents completion_events;
  UnackedEvents async_events;
  verbs::TimedCompletion current;  // of the extended poll

  ibv_cq* plain() { return reinterpret_cast<ibv_cq*>(&ibv); }
};

struct Srq {
  explicit Srq(verbs::Srq object) : native(std::move(object)) {}

  ibv_srq ibv{};
  verbs::Srq native;
  SpinLock lock;
  std::atomic<int> users{0};
  UnackedEvents async_events;
};

/// Work requests under construction by ibv_wr_*.
struct Builder {
  std::vector<ibv_send_wr> requests;
  std::vector<std::vector<ibv_sge>> lists;         // one a request
  std::vector<std::vector<uint8_t>> inline_bytes;  // one a request
  size_t count = 0;
  int error = 0;
};

struct Qp {
  ibv_qp_ex ibv{};  // the first member is the ibv_qp
  std::optional<verbs::Qp> native;
  SpinLock send_lock;
  SpinLock receive_lock;
  UnackedEvents async_events;
  bool signal_all = false;
  Builder builder;

  ibv_qp& plain() { return ibv.qp_base; }
};

template <class Ours, class Theirs>
Ours& from(Theirs* theirs) {
  return *reinterpret_cast<Ours*>(theirs);
}

inline Context& context_of(ibv_context* context) {
  return *reinterpret_cast<Context*>(reinterpret_cast<char*>(context) -
                                     offsetof(verbs_context, context));
}

/// The address as uroce takes it: by GID, and without the bits of the flow label that no header has
/// room for; programs set them and expect them to be ignored.
inline ibv_ah_attr plain(const ibv_ah_attr& attr) {
  ibv_ah_attr plain = with_gid(attr);
  plain.grh.flow_label &= 0xfffff;
  return plain;
}

/// What failing calls that return a pointer do.
inline std::nullptr_t fail_with(int error) {
  errno = error;
  return nullptr;
}

/// Positive errno of a Status, as calls that return int give it; errno is set as well.
inline int result_of(const Status& status) {
  if (status) {
    return 0;
  }
  errno = status.error().code;
  return errno;
}

void fill_operations(Context& context);       // device.cc
void fill_unsupported(verbs_context& verbs);  // unsupported.cc

// Slots, by the file that defines them.
int poll_cq(ibv_cq* cq, int count, ibv_wc* out);                           // cq.cc
int req_notify_cq(ibv_cq* cq, int solicited_only);                         // cq.cc
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr);  // cq_ex.cc
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);                            // memory.cc
int dealloc_mw(ibv_mw* mw);                                                // memory.cc
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);                    // memory.cc
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad);       // srq.cc
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attr);  // srq.cc
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad);             // qp.cc
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad);             // qp.cc
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attr);     // qp.cc
/// EOPNOTSUPP for operations that do not exist here.
int fill_builder(Qp& qp, uint64_t send_ops);  // wr.cc

}  // namespace roce::ibv
