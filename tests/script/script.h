// Script: one device under test, in virtual time, whose peer is nothing but packets. A case is a
// list of steps: put packets in, post work requests, let time pass; after each such step everything
// that the device did must be expected before the next one: each packet with all its fields, each
// completion, each asynchronous event, each dropped packet with its reason. What nobody expects
// fails the case.
//
// Packets count PSNs from the first one of their direction; each case runs for several first PSNs.
// Thread: the test's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <deque>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <roce/verbs.h>

#include "base/drop_reason.h"
#include "engine/counters.h"
#include "engine/engine.h"
#include "qp/core.h"
#include "script/packets.h"
#include "script/requests.h"
#include "script/scripted_port.h"

namespace roce::script {

/// Ends a case that has failed.
struct CaseFailed {};

struct CaseInfo {
  std::string name;
  uint32_t peer_psn = 0;    ///< first PSN of the peer's requests
  uint32_t device_psn = 0;  ///< first PSN of the device's requests
};

/// The same, of a case that is tied to them.
struct FirstPsns {
  uint32_t peer = 0;
  uint32_t device = 0;
};

inline constexpr int kAllRemote =
    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

/// How the device and its queue pair are made.
struct Setup {
  ibv_qp_type type = IBV_QPT_RC;
  ibv_mtu pmtu = IBV_MTU_256;
  int access = kAllRemote;  ///< of the queue pair
  int mr_access = IBV_ACCESS_LOCAL_WRITE | kAllRemote;
  uint8_t timeout = 14;  ///< 67.1 ms
  uint8_t retry_cnt = 7;
  uint8_t rnr_retry = 7;
  uint8_t min_rnr_timer = 12;  ///< 640 us
  uint8_t rd_atomic = 4;
  uint8_t dest_rd_atomic = 4;
  ibv_qp_cap cap{32, 32, 4, 4, 64};
  int send_cqes = 64;
  int recv_cqes = 64;
  bool signal_all = true;
  bool ipv6 = false;
  std::optional<uint16_t> vlan = std::nullopt;
  uint8_t sl = 0;
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 0;
  uint32_t flow_label = 0;
  uint32_t port_mtu = 4400;
  uint32_t window = 256;
  uint16_t pkey = 0xffff;        ///< the P_Key table's only entry
  size_t held = 0;               ///< packets that may wait for an earlier one; 0: go-back-N
  uint32_t shared_receives = 0;  ///< entries of a shared receive queue; 0: none
  std::optional<FirstPsns> first_psns = std::nullopt;  ///< whatever those of the run are
};

class VirtualClock final : public verbs::Clock {
 public:
  Instant now() override { return now_; }
  void set(Instant t) { now_ = t; }

 private:
  Instant now_{1'000'000'000};
};

/// A place in a case, the caller's by default. std::source_location is not in all supported pairs
/// of compiler and library.
struct Where {
  const char* file = "";
  int line = 0;

  static constexpr Where current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

class Script {
 public:
  static constexpr uint32_t kPeerQpn = 0x00abcd;
  static constexpr uint64_t kPeerVa = 0x0000'1234'5678'0000;  ///< of the peer's memory
  static constexpr uint32_t kPeerRkey = 0x9abcdef0;
  static constexpr uint32_t kQkey = 0x11111111;  ///< of a UD queue pair
  static constexpr size_t kMemory = size_t{64} * 1024;

  explicit Script(CaseInfo info);
  virtual ~Script();
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  /// The case's steps.
  virtual void run() = 0;
  /// Checks that nothing is left over. To be called after run().
  void finish(Where at = Where::current());

  // --- set up

  /// Makes a device and a queue pair in RESET.
  void create(const Setup& setup = {}, Where at = Where::current());
  /// The same, and brings the queue pair to RTS.
  void connect(const Setup& setup = {}, Where at = Where::current());
  /// Brings the queue pair of create() on until it is in `state`. SQE comes from a datagram or an
  /// unreliable SEND with a wrong key.
  void bring_to(ibv_qp_state state, Where at = Where::current());
  /// Attributes and mask that lead from the state before to `state`.
  ibv_qp_attr attributes(ibv_qp_state state) const;
  int mask(ibv_qp_state state) const;

  // --- the peer

  /// Puts packets in, in one burst.
  void inject(const Pkt& p, Where at = Where::current()) { inject({p}, at); }
  void inject(std::initializer_list<Pkt> packets, Where at = Where::current());
  void inject(const std::vector<Pkt>& packets, Where at = Where::current());
  /// Puts in a frame as it is.
  void inject_frame(Bytes frame, Where at = Where::current());
  /// The frame of a packet that the peer would send.
  Bytes frame_of(const Pkt& p) const;

  /// Exactly these packets have been sent since the step before, in this order.
  void expect(const Pkt& p, Where at = Where::current()) { expect({p}, at); }
  void expect(std::initializer_list<Pkt> packets, Where at = Where::current());
  void expect(const std::vector<Pkt>& packets, Where at = Where::current());
  /// Nothing at all has happened since the step before.
  void expect_nothing(Where at = Where::current());
  /// `n` packets have been dropped for this reason, and none for another one.
  void expect_drop(DropReason reason, uint64_t n = 1, Where at = Where::current());
  /// Lets the port take nothing, or everything again.
  void refuse_frames(bool on, Where at = Where::current());
  /// The one packet that has been sent since the step before, as it is.
  Bytes take_frame(Where at = Where::current());
  /// All packets since then.
  std::vector<Bytes> take_frames();
  /// Packets that the device has sent and nobody has expected yet.
  size_t sent_count();
  /// Forgets these packets, whatever they are; returns how many.
  size_t forget_sent();
  /// Forgets frames of other protocols than RoCE (address resolution).
  void forget_link_frames();
  /// Leaves completions in their queues, or takes them out at once as usual.
  void hold_completions(bool on) { holding_ = on; }

  // --- time

  void advance(Duration span, Where at = Where::current());

  // --- the device's user

  void post(const Wr& wr, Where at = Where::current());
  /// Posts a list; exactly one doorbell.
  void post(std::initializer_list<Wr> list, Where at = Where::current());
  void recv(uint64_t id, size_t offset, uint32_t length, Where at = Where::current());
  void recv_bad_key(uint64_t id, size_t offset, uint32_t length, Where at = Where::current());
  /// The request is refused with this errno and a reason that has `words` in it.
  void post_refused(const Wr& wr, int error, std::string_view words, Where at = Where::current());
  void recv_refused(uint64_t id, int error, std::string_view words, Where at = Where::current());
  void modify(const ibv_qp_attr& attr, int mask, Where at = Where::current());
  void modify_refused(const ibv_qp_attr& attr, int mask, std::string_view words,
                      Where at = Where::current());
  void move_to(ibv_qp_state state, Where at = Where::current());

  /// Exactly these completions are in the send queue's CQ.
  void expect_sent(const std::vector<Done>& completions, Where at = Where::current());
  /// The same in the receive queue's.
  void expect_received(const std::vector<Done>& completions, Where at = Where::current());
  void expect_event(ibv_event_type type, Where at = Where::current());
  void expect_events(const std::vector<ibv_event_type>& types, Where at = Where::current());
  /// A request was refused: this NAK, the queue pair in error, and the event that goes with the NAK
  /// since no receive request was in use.
  void expect_refused(const Pkt& nak, Where at = Where::current());
  void expect_state(ibv_qp_state state, Where at = Where::current());
  /// The device's memory at `offset` is `bytes`, and the byte behind is as it was at the beginning.
  void expect_memory(size_t offset, const Bytes& bytes, Where at = Where::current());
  /// All of the device's memory is as it was at the beginning.
  void expect_memory_untouched(Where at = Where::current());
  /// A counter of the queue pair.
  void expect_counter(uint64_t QpCounters::*counter, uint64_t value, Where at = Where::current());
  /// What the queue pair says of its retries, which have run out; PSNs as in packets.
  void expect_failure(uint8_t retries, PeerConduct peer, int32_t last_sent,
                      int32_t last_acknowledged, Where at = Where::current());
  void expect_that(bool holds, std::string_view what, Where at = Where::current());

  uint64_t at(size_t offset) const { return reinterpret_cast<uint64_t>(memory_.data() + offset); }
  uint32_t rkey() const { return mr_->rkey(); }
  Bytes memory(size_t offset, size_t n) const;
  void set_memory(size_t offset, const Bytes& bytes);
  void set_word(size_t offset, uint64_t value);
  uint64_t word(size_t offset) const;
  void deregister_memory() { mr_.reset(); }
  void destroy_qp();
  /// A further queue pair of the same kind, in RTS; for UD and tests of several.
  verbs::Qp another_qp(Where at = Where::current());

  uint32_t peer_psn() const { return info_.peer_psn; }
  uint32_t device_psn() const { return info_.device_psn; }
  const Setup& setup() const { return setup_; }
  uint32_t pmtu() const { return 128u << setup_.pmtu; }
  verbs::Device& device() { return *device_; }
  verbs::Qp& qp() { return *qp_; }
  verbs::Pd& pd() { return *pd_; }
  verbs::Mr& mr() { return *mr_; }
  verbs::Srq& srq() { return *srq_; }
  verbs::Ah& ah() { return *ah_; }
  verbs::Cq& send_cq() { return *send_cq_; }
  verbs::Cq& recv_cq() { return *recv_cq_; }
  ScriptedPort& port() { return *port_; }
  VirtualClock& clock() { return clock_; }
  /// Lets the device run until it waits for something.
  void settle();

 protected:
  /// Starts a step: everything that the one before brought must have been expected.
  void step(std::string what, Where at);
  [[noreturn]] void fail(const std::string& what);

 private:
  using Drops = std::array<uint64_t, kDropReasonCount>;

  void make_device();
  void tear_down();
  wire::Fields fields_of(const Pkt& p, bool from_peer) const;
  void add_addresses(wire::Fields& f, bool from_peer) const;
  wire::Fields decoded(const Bytes& frame);
  void collect();
  Drops new_drops() const;
  std::string leftovers();
  void expect_completions(std::deque<ibv_wc>& seen, const std::vector<Done>& wanted,
                          const char* queue);
  static std::string mismatch(const Done& wanted, const ibv_wc& seen, uint32_t qpn);
  int post_list(const std::vector<Wr>& list);
  int post_recv(uint64_t id, size_t offset, uint32_t length, uint32_t lkey_error);

  CaseInfo info_;
  Setup setup_;
  std::string step_ = "the beginning";
  Where where_ = Where::current();
  int steps_ = 0;

  VirtualClock clock_;
  std::unique_ptr<ScriptedPort> port_;
  std::unique_ptr<verbs::Device> device_;
  std::vector<uint8_t> memory_;
  std::optional<verbs::Pd> pd_;
  std::optional<verbs::Cq> send_cq_;
  std::optional<verbs::Cq> recv_cq_;
  std::optional<verbs::Mr> mr_;
  std::optional<verbs::Srq> srq_;
  std::optional<verbs::Ah> ah_;  // UD: to the peer
  std::optional<verbs::Qp> qp_;
  uint32_t qpn_ = 0;

  std::deque<Bytes> sent_;
  std::deque<ibv_wc> send_done_;
  std::deque<ibv_wc> recv_done_;
  std::deque<verbs::AsyncEvent> events_;
  Drops drops_seen_{};
  bool holding_ = false;
};

constexpr Duration ns(int64_t n) {
  return Duration::from_ns(n);
}
constexpr Duration us(int64_t n) {
  return Duration::from_us(n);
}
constexpr Duration ms(int64_t n) {
  return Duration::from_ms(n);
}

/// The drop reasons that cases have named so far, with the cases' names.
std::vector<std::pair<DropReason, std::string>>& reached_reasons();

}  // namespace roce::script
