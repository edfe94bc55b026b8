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
#include <vector>

#include <infiniband/verbs.h>

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "roce/verbs_objects.h"

namespace roce {

class Port;
struct EngineConfig;
struct EngineCounters;
struct QpCounters;
struct PortInfo;
struct PortStats;

namespace verbs {

struct Snapshot;

/// Where a device gets the time from. Monotonic. Thread: the one that drives the device.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() = 0;
};

/// Something that happened to an object, or to the port.
struct AsyncEvent {
  ibv_event_type type{};
  /// Which: the QPN, Cq::handle() or Srq::handle(), by the kind of event; the port's number.
  uint32_t object = 0;
};

struct DeviceConfig {
  /// PSNs that a QP may have unacknowledged, 1..65536.
  uint32_t window_packets = 256;
  /// How long a call waits for a peer's Ethernet address (INIT -> RTR, create_ah).
  Duration resolve_timeout = Duration::from_s(3);
  /// DCQCN: the rate in bytes a second that a QP has without congestion, and from which
  /// congestion notifications slow it down; 0: they are counted only.
  double dcqcn_line_rate = 0;
  /// The P_Key table, 1..64 entries; upper bit set: full member.
  std::vector<uint16_t> pkeys = {0xffff};
  /// Called again and again while a call waits for the network, after the engine was polled:
  /// virtual time moves here.
  std::function<void()> while_waiting;
  /// Where keys, QPNs and PSNs come from; the kernel unless given. A simulator gives a seeded one.
  RandomSource random;
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
  /// Assisted: poll() may be called by any thread and drives the engine while no other does; a
  /// helper thread drives it while nobody calls. All calls are then safe from any thread, except
  /// that each queue is posted to and polled by one thread at a time. `on_start` is called on the
  /// helper thread first, once.
  Status start_helper(std::function<void()> on_start = {});
  /// Takes the engine back.
  void stop_thread();

  // --- objects

  Result<Pd> alloc_pd();
  /// Registers `length` bytes at `addr`; `access` as in ibv_reg_mr. `iova`: the address by which
  /// peers and SGEs name the first byte, `addr` itself when empty.
  Result<Mr> reg_mr(const Pd& pd, void* addr, size_t length, int access,
                    std::optional<uint64_t> iova = {});
  /// A window of `type`, not bound to anything yet.
  Result<Mw> alloc_mw(const Pd& pd, ibv_mw_type type);
  /// Holds `entries` completions (1..query_device().max_cqe).
  Result<Cq> create_cq(int entries, const CqOptions& options = {});
  Result<CompChannel> create_comp_channel();
  /// Of `attr` only max_wr and max_sge are taken.
  Result<Srq> create_srq(const Pd& pd, const ibv_srq_attr& attr);
  /// Only `send_cq`, `recv_cq` and `srq` are taken from the arguments, not those in `attr`. With a
  /// shared receive queue max_recv_wr and max_recv_sge mean nothing.
  Result<Qp> create_qp(const Pd& pd, const Cq& send_cq, const Cq& recv_cq,
                       const ibv_qp_init_attr& attr, const Srq* srq = nullptr);
  /// Resolves the Ethernet address of the destination, unless it is a multicast group; may take
  /// until DeviceConfig::resolve_timeout (EHOSTUNREACH).
  Result<Ah> create_ah(const Pd& pd, const ibv_ah_attr& attr);
  /// Address attributes that lead back to the sender of the received datagram; `grh` is what lies
  /// in front of its payload. EINVAL when `wc` has no GRH or it is not for one of our GIDs.
  Result<ibv_ah_attr> init_ah_from_wc(uint8_t port_num, const ibv_wc& wc, const ibv_grh& grh) const;

  // --- queries

  ibv_device_attr query_device() const;
  /// EINVAL unless `port_num` is 1.
  Result<ibv_port_attr> query_port(uint8_t port_num) const;
  /// EINVAL when there is no such entry. 0 is the link-local address, then follow the configured
  /// ones.
  Result<ibv_gid> query_gid(uint8_t port_num, int index) const;
  /// EINVAL when there is no such entry.
  Result<uint16_t> query_pkey(uint8_t port_num, int index) const;
  /// Index of the GID to use when nobody chose one: the first that is not link-local, else 0.
  int default_gid_index() const;
  /// An unguessable first PSN.
  uint32_t random_psn();
  /// True while the other end of the wire is there.
  bool link_up();
  /// Until when a peer may ask for an acknowledgement that was lost, of queue pairs that are gone
  /// or will be so now. A device that goes earlier may let its peer report a failure for a message
  /// that has arrived.
  Instant peers_may_ask_until() const;

  EngineCounters counters() const;
  /// Sums over all QPs that ever were.
  QpCounters qp_counters() const;
  PortStats port_stats() const;
  /// Of the port below; constant. Lives as long as the device.
  const PortInfo& port_info() const;

  /// What everything is at, for telemetry. Thread: any but the one that drives the device, which
  /// answers within a tenth of a second; ETIMEDOUT: nobody drove it for `patience`.
  Result<Snapshot> snapshot(Duration patience) const;

  /// The oldest event not taken yet. Thread: any.
  std::optional<AsyncEvent> take_async_event();
  /// A descriptor that is readable while there are events; belongs to the device. Each event is one
  /// count of an eventfd in semaphore mode, which take_async_event() takes.
  int async_fd() const;

 private:
  explicit Device(std::shared_ptr<detail::DeviceState> state);
  std::shared_ptr<detail::DeviceState> state_;
};

/// Names as libibverbs prints them.
std::string_view wc_status_name(ibv_wc_status status);

}  // namespace verbs
}  // namespace roce
