// The native verbs API of uroce, for programs that embed it: RDMA objects as C++ values that clean
// up after themselves, with the structs, enums and words of <infiniband/verbs.h>.
//
// Drive. A Device does nothing by itself. Run to completion: the application's thread calls
// Device::poll() again and again; no other thread may touch the device. Engine thread:
// Device::start_thread() polls on a core of its own, the application only posts and polls
// completions, each queue from one thread at a time.
//
// Buffers. Memory given to post_send belongs to uroce until the completion of that work request (or
// of a later one of the same queue) has been polled, inline data only until post_send returns.
// Memory given to post_recv belongs to uroce until its completion has been polled.
//
// Errors. Set-up calls return Result<T> or Status: the errno that verbs document and one sentence
// that names the value, the limit and the remedy. post_send, post_recv and poll return plain
// numbers.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <infiniband/verbs.h>

#include "base/result.h"
#include "base/time.h"

namespace roce {

class Port;
struct EngineConfig;
struct EngineCounters;
struct QpCounters;
struct PortStats;

namespace verbs {

namespace detail {
struct DeviceState;
struct PdState;
struct MrState;
struct CqState;
struct QpState;
}  // namespace detail

/// Where a device gets the time from. Monotonic. Thread: the one that drives the device.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() = 0;
};

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

  /// For the library: made by Device.
  explicit Mr(std::unique_ptr<detail::MrState> state);
  Mr(Mr&&) noexcept;
  Mr& operator=(Mr&&) noexcept;
  ~Mr();

 private:
  std::unique_ptr<detail::MrState> state_;
};

/// A completion queue. Lives on while queue pairs use it.
class Cq {
 public:
  /// Takes up to out.size() completions, oldest first. Returns how many, or -EOVERFLOW once a
  /// completion was lost because the queue was full (which is for good). Thread: one at a time.
  int poll(std::span<ibv_wc> out);
  /// Completions that the queue holds.
  int capacity() const;

  /// For the library: made by Device.
  explicit Cq(std::shared_ptr<detail::CqState> state) : state_(std::move(state)) {}
  const std::shared_ptr<detail::CqState>& state() const { return state_; }

 private:
  std::shared_ptr<detail::CqState> state_;
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

  /// Posts a list of work requests. 0, or a positive errno; then *bad_wr is the first one not
  /// posted, and those before it are. EINVAL: the request is wrong or the state does not take any;
  /// ENOMEM: the queue is full. post_error() says why in words. Thread: one at a time.
  int post_send(ibv_send_wr* wr, ibv_send_wr** bad_wr);
  /// The same for receives.
  int post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
  /// Why the last refused post was refused.
  std::string_view post_error() const;

  /// For the library: made by Device.
  explicit Qp(std::unique_ptr<detail::QpState> state);
  Qp(Qp&&) noexcept;
  Qp& operator=(Qp&&) noexcept;
  ~Qp();

 private:
  std::unique_ptr<detail::QpState> state_;
};

struct AsyncEvent {
  ibv_event_type type;
  uint32_t qpn;
};

struct DeviceConfig {
  /// PSNs that a QP may have unacknowledged, 1..65536.
  uint32_t window_packets = 256;
  /// How long INIT -> RTR waits for the peer's Ethernet address.
  Duration resolve_timeout = Duration::from_s(3);
  /// Called again and again while a call waits for the network, after the engine was polled:
  /// virtual time moves here.
  std::function<void()> while_waiting;
};

/// An RDMA device with one port, over one network port.
class Device {
 public:
  /// `port` and `clock` must outlive the device.
  static Result<std::unique_ptr<Device>> create(Port& port, Clock& clock,
                                                const EngineConfig& engine, DeviceConfig config);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // --- drive

  /// One turn of the engine: some packets in, some out. Run to completion only.
  void poll();
  /// When poll() has something to do by itself; for virtual time.
  Instant next_event() const;
  /// Hands the engine to a thread of its own that polls for ever, on `cpu` if that is not negative.
  /// `on_start` is called there first, once.
  Status start_thread(int cpu, std::function<void()> on_start = {});
  /// Takes the engine back.
  void stop_thread();

  // --- objects

  Result<Pd> alloc_pd();
  /// Registers `length` bytes at `addr`; `access` as in ibv_reg_mr.
  Result<Mr> reg_mr(const Pd& pd, void* addr, size_t length, int access);
  Result<Cq> create_cq(int entries);
  /// Only `send_cq` and `recv_cq` are taken from here, not those in `attr`.
  Result<Qp> create_qp(const Pd& pd, const Cq& send_cq, const Cq& recv_cq,
                       const ibv_qp_init_attr& attr);

  // --- queries

  ibv_device_attr query_device() const;
  /// EINVAL unless `port_num` is 1.
  Result<ibv_port_attr> query_port(uint8_t port_num) const;
  /// EINVAL when there is no such entry. 0 is the link-local address, then follow the configured
  /// ones.
  Result<ibv_gid> query_gid(uint8_t port_num, int index) const;
  /// Index of the GID to use when nobody chose one: the first that is not link-local, else 0.
  int default_gid_index() const;
  /// An unguessable first PSN.
  uint32_t random_psn();
  /// True while the other end of the wire is there.
  bool link_up();

  EngineCounters counters() const;
  /// Sums over all QPs that ever were.
  QpCounters qp_counters() const;
  PortStats port_stats() const;
  std::optional<AsyncEvent> take_async_event();

 private:
  explicit Device(std::shared_ptr<detail::DeviceState> state);
  std::shared_ptr<detail::DeviceState> state_;
};

/// Names as libibverbs prints them.
std::string_view wc_status_name(ibv_wc_status status);

}  // namespace verbs
}  // namespace roce
