// The objects of the native verbs API: what a Device makes. Each is a handle; the object goes when
// the last handle and the last user of it have gone. The rules of verbs.h on drive, buffers and
// errors hold.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <infiniband/verbs.h>

#include "base/result.h"

namespace roce {

class Qp;
struct QpCounters;
struct SendFailure;

namespace verbs {

namespace detail {
struct DeviceState;
struct PdState;
struct MrState;
struct MwState;
struct AhState;
struct CqState;
class ChannelState;
struct SrqState;
struct QpState;
}  // namespace detail

/// A protection domain: memory regions and queue pairs work together only inside one.
class Pd {
 public:
  uint32_t handle() const;

  /// For the library: made by Device.
  explicit Pd(std::shared_ptr<detail::PdState> state) : state_(std::move(state)) {}
  const std::shared_ptr<detail::PdState>& state() const { return state_; }

 private:
  std::shared_ptr<detail::PdState> state_;
};

/// Registered memory. Deregistered when the object goes; work requests that use it afterwards fail.
class Mr {
 public:
  uint32_t lkey() const;
  uint32_t rkey() const;
  void* addr() const;
  size_t length() const;
  /// As work requests name it (ibv_mw_bind_info::mr); valid as long as this object.
  ibv_mr* ibv() const;

  /// Deregisters now. EBUSY while memory windows are bound to it; the region is then unchanged.
  Status deregister();
  /// ibv_rereg_mr: changes what `flags` name (IBV_REREG_MR_CHANGE_*). The keys stay. On an error
  /// nothing has changed.
  Status reregister(int flags, const Pd* pd, void* addr, size_t length, int access);

  /// For the library: made by Device.
  explicit Mr(std::unique_ptr<detail::MrState> state);
  Mr(Mr&&) noexcept;
  Mr& operator=(Mr&&) noexcept;
  ~Mr();

 private:
  std::unique_ptr<detail::MrState> state_;
};

/// A memory window: a key of its own for a part of a region, given and taken away by work requests.
class Mw {
 public:
  /// The present key; changed by Qp::bind_mw, and for type 2 whatever the last bind asked for.
  uint32_t rkey() const;
  /// As work requests name it (ibv_send_wr::bind_mw); valid as long as this object.
  ibv_mw* ibv() const;

  /// For the library: made by Device.
  explicit Mw(std::unique_ptr<detail::MwState> state);
  Mw(Mw&&) noexcept;
  Mw& operator=(Mw&&) noexcept;
  ~Mw();

 private:
  std::unique_ptr<detail::MwState> state_;
};

/// An address handle: the way to the destination of datagrams.
class Ah {
 public:
  /// As work requests name it (ibv_send_wr::wr.ud.ah); needed only until post_send returns.
  ibv_ah* ibv() const;

  /// For the library: made by Device.
  explicit Ah(std::unique_ptr<detail::AhState> state);
  Ah(Ah&&) noexcept;
  Ah& operator=(Ah&&) noexcept;
  ~Ah();

 private:
  std::unique_ptr<detail::AhState> state_;
};

class CompChannel;

/// What a completion queue may have beside its size.
struct CqOptions {
  bool timestamps = false;               ///< poll_timed() gives the time of each completion
  const CompChannel* channel = nullptr;  ///< the queue can be armed, and tells this channel
};

/// A completion and when the engine wrote it, in nanoseconds of the device's clock.
struct TimedCompletion {
  ibv_wc wc{};
  uint64_t timestamp_ns = 0;
};

/// A completion queue. Lives on while queue pairs use it.
class Cq {
 public:
  /// Names the queue in asynchronous events.
  uint32_t handle() const;
  /// Completions that the queue holds.
  int capacity() const;
  /// Takes up to out.size() completions, oldest first. Returns how many, or -EOVERFLOW once a
  /// completion was lost because the queue was full (which is for good). Thread: one at a time.
  int poll(std::span<ibv_wc> out);
  /// The same with times; they are 0 without CqOptions::timestamps.
  int poll_timed(std::span<TimedCompletion> out);

  /// Asks for one event at the next completion from now on (with `solicited_only`: at the next one
  /// that its sender marked, or that is an error). Completions that are there already give none:
  /// poll once more after arming. EINVAL without a channel. Thread: that of poll().
  Status arm(bool solicited_only);
  /// Counts events taken from the channel as dealt with.
  void ack_events(unsigned n);
  /// Events taken from the channel and not acknowledged yet.
  unsigned unacknowledged_events() const;
  /// Changes the capacity; completions that are there stay. EINVAL below their number or above the
  /// device's limit. No other thread may poll meanwhile.
  Status resize(int entries);

  /// For the library: made by Device.
  explicit Cq(std::shared_ptr<detail::CqState> state) : state_(std::move(state)) {}
  const std::shared_ptr<detail::CqState>& state() const { return state_; }

 private:
  std::shared_ptr<detail::CqState> state_;
};

/// A completion channel: one descriptor for the events of several completion queues.
class CompChannel {
 public:
  /// Readable while there are events; belongs to the channel. In blocking mode until the
  /// application changes that.
  int fd() const;
  /// Takes the oldest event and returns its queue. Waits for one while the descriptor is in
  /// blocking mode (which only makes sense when an engine thread drives the device); nullopt when
  /// it is not and there is none. Thread: any.
  std::optional<Cq> get_event();

  /// For the library: made by Device.
  explicit CompChannel(std::shared_ptr<detail::ChannelState> state) : state_(std::move(state)) {}
  const std::shared_ptr<detail::ChannelState>& state() const { return state_; }

 private:
  std::shared_ptr<detail::ChannelState> state_;
};

/// A shared receive queue. Lives on while queue pairs use it.
class Srq {
 public:
  /// Names the queue in asynchronous events.
  uint32_t handle() const;
  /// As Qp::post_recv. Thread: one at a time.
  int post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
  /// Why the last refused post was refused.
  std::string_view post_error() const;
  /// ibv_modify_srq: IBV_SRQ_LIMIT arms the limit event once, IBV_SRQ_MAX_WR resizes. EINVAL: more
  /// work requests are posted than the new size, or a value above the limit. Thread: that of
  /// post_recv().
  Status modify(const ibv_srq_attr& attr, int attr_mask);
  ibv_srq_attr query() const;

  /// For the library: made by Device.
  explicit Srq(std::shared_ptr<detail::SrqState> state) : state_(std::move(state)) {}
  const std::shared_ptr<detail::SrqState>& state() const { return state_; }

 private:
  std::shared_ptr<detail::SrqState> state_;
};

/// A FLUSH: when it completes, what was written before to the range is visible to all at the peer.
/// rdma-core 44 has no struct for it.
struct FlushRequest {
  uint64_t wr_id = 0;
  uint64_t remote_addr = 0;
  uint32_t rkey = 0;
  uint32_t length = 0;        ///< bytes
  bool whole_region = false;  ///< all of the rkey's memory; address and length mean nothing then
  unsigned send_flags = 0;    ///< as in ibv_send_wr
};

/// A queue pair.
class Qp {
 public:
  uint32_t qpn() const;

  /// ibv_modify_qp: moves the state machine. Refused (EINVAL) when the transition or an attribute
  /// is wrong, and then nothing has changed. INIT -> RTR resolves the peer's Ethernet address and
  /// may take until DeviceConfig::resolve_timeout (EHOSTUNREACH).
  Status modify(const ibv_qp_attr& attr, int attr_mask);

  /// The current attributes and state (ibv_query_qp).
  ibv_qp_attr query() const;
  /// Capacities granted: never below the ones asked for.
  ibv_qp_cap cap() const;
  /// What has happened to this QP's packets. Thread: with an engine thread a snapshot.
  QpCounters counters() const;
  /// Where sending stood when the retries were used up (roce/counters.h). `happened` is false
  /// before that, and after a modify to RESET. Thread: as counters().
  SendFailure send_failure() const;

  /// Posts a list of work requests. 0, or a positive errno; then *bad_wr is the first one not
  /// posted, and those before it are. EINVAL: the request is wrong or the state does not take any;
  /// ENOMEM: the queue is full. post_error() says why in words. Thread: one at a time.
  int post_send(ibv_send_wr* wr, ibv_send_wr** bad_wr);
  /// The same, but all or nothing: when one request is refused, none is posted.
  int post_send_all(ibv_send_wr* wr);
  /// As post_send(), for receives.
  int post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
  /// Posts a FLUSH (RC). Returns as post_send().
  int post_flush(const FlushRequest& request);
  /// ibv_bind_mw: posts the bind of a window of type 1, whose key changes at once. Returns as
  /// post_send().
  int bind_mw(Mw& mw, const ibv_mw_bind& bind);
  /// Why the last refused post was refused.
  std::string_view post_error() const;

  /// Joins a multicast group (UD). EINVAL: not a group, or not a UD queue pair.
  Status attach_mcast(const ibv_gid& group);
  /// EINVAL: not attached.
  Status detach_mcast(const ibv_gid& group);
  /// Groups that the queue pair has joined.
  size_t mcast_groups() const;

  /// For the library: made by Device.
  explicit Qp(std::unique_ptr<detail::QpState> state);
  Qp(Qp&&) noexcept;
  Qp& operator=(Qp&&) noexcept;
  ~Qp();

 private:
  std::unique_ptr<detail::QpState> state_;
  const roce::Qp* engine_qp_;  // state_'s: asked for at once, not when *state_ has come
};

}  // namespace verbs
}  // namespace roce
