// Engine: one thread's endpoint. It owns the QPs, the keys and the addresses of one port and moves
// everything forward in poll(): receive, dispatch, timers, settle, flush. It calls the QPs' halves
// and asks them afterwards what they want; nothing calls back into it.
//
// Thread: all methods belong to one thread, the engine's, except ring(). Time never goes backwards.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/engine_place.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/active_list.h"
#include "engine/counters.h"
#include "engine/doorbells.h"
#include "engine/farewells.h"
#include "engine/multicast_table.h"
#include "engine/qp_fetcher.h"
#include "engine/qp_table.h"
#include "engine/timer_wheel.h"
#include "memory/region_table.h"
#include "net/link_responder.h"
#include "net/local_addresses.h"
#include "net/neighbour_table.h"
#include "port/port.h"

namespace roce {

struct EngineConfig {
  LocalAddresses addresses;
  NeighbourConfig neighbours;
  std::vector<std::pair<Gid, MacAddress>> static_neighbours;
  std::vector<Gid> gateways;  ///< at most one of each IP version
  TableSizes tables;
  /// Among the engines that share the addresses. The port brings each the frames for its QPs, and
  /// all of them what neighbours say of themselves; only the first says that the node is there.
  EnginePlace place;
  /// Frames kept, over all QPs, that came before an earlier packet; 0: go-back-N (QpSpec::holding).
  size_t held_packets = 0;
  /// True when posting and polling happen on the engine's own thread: ring() then needs no
  /// hand-over.
  bool same_thread = true;
  /// The port hands back what is sent to its own address, so that it need not be looped back here.
  bool port_loops_back = false;
};

/// Something that the owner of an object has to be told.
struct EngineEvent {
  enum class Source : uint8_t { qp, shared_receives };

  Source source = Source::qp;
  uint32_t id = 0;   ///< QPN, or SharedReceiveQueue::id()
  uint8_t bits = 0;  ///< of a QP: QpEvent; a shared queue has one event only, that of its limit
};

class Engine {
 public:
  /// `port` must outlive the engine. The engine's clock starts at `now`.
  Engine(Port& port, const EngineConfig& config, const RandomSource& random, Instant now);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Enters the configured neighbours and gateways; refused when one makes no sense.
  Status set_up_neighbours(const EngineConfig& config);

  /// One turn of the loop: what was posted since the last one is sent first; then at most kRxBurst
  /// frames come in and what they call for goes out. True when a frame came or went.
  bool poll(Instant now);

  /// When poll() has something to do even if nothing arrives and nothing is posted; may be early.
  /// Not later than `now` when there is work at hand.
  Instant next_event(Instant now) const;

  /// Tells the engine that something was posted to `qp`. Thread: any (with same_thread: the
  /// engine's).
  void ring(Qp& qp) {
    if (same_thread_) {
      active_.add(qp, kSendWork);
      posted_ = true;
    } else {
      doorbells_.ring(qp);
    }
  }

  /// Says whether posters are on the engine's own thread (the default: ring() then needs no
  /// hand-over). To be called while no other thread posts.
  void set_same_thread(bool same) { same_thread_ = same; }

  /// Says whether the other end of the port is there (the default). While it is not, frames that
  /// the port does not take are lost, as on a cable that is not plugged in: they would block those
  /// for this node itself. Thread: the engine's.
  void set_link_up(bool up) { link_up_ = up; }

  /// `spec.holding` is the engine's affair.
  Result<Qp*> create_qp(QpSpec spec);
  /// The QP's completions stay in their CQs; see CompletionQueue::purge. Its peer is answered for
  /// a while should its last acknowledgement be lost.
  void destroy_qp(Qp& qp);
  /// Until when a peer may ask for a lost acknowledgement of what was executed by QPs that are gone
  /// or, counted from now on, by those that are there.
  Instant peers_may_ask_until() const;
  /// Sends what the QP owes its peer, before it ceases to answer: the application has seen the
  /// message, so its sender must learn that it has arrived. All its completions are visible then.
  void answer_now(Qp& qp);
  /// The QP receives what is sent to the group; ENOMEM at the limits of base/limits.h.
  Status join_group(Qp& qp, const Gid& group);
  void leave_group(const Qp& qp, const Gid& group);
  /// The QP's attributes or state were changed: serve it in the next poll.
  void touch(Qp& qp) { active_.add(qp, kAnyWork); }

  RegionTable& regions() { return regions_; }
  const QpTable& qps() const { return qps_; }
  const LocalAddresses& addresses() const { return addresses_; }
  NeighbourTable& neighbours() { return neighbours_; }
  Port& port() const { return port_; }
  Instant now() const { return now_; }

  const EngineCounters& counters() const { return counters_; }
  const LinkCounters& link_counters() const { return link_.counters(); }
  /// Sums over all QPs, destroyed ones included.
  QpCounters qp_counters() const;
  bool has_events() const { return !events_.empty(); }
  /// The oldest event not taken yet.
  std::optional<EngineEvent> take_event();

 private:
  static constexpr size_t kLocalFrames = 256;  // looped back and not yet received; a power of two

  void receive();
  void handle(const Frame& frame);
  void deliver(const wire::Packet& packet);
  void take_cnp(const wire::Packet& packet);
  void deliver_to_group(const wire::Packet& packet, const Qp* except);
  void deliver_copy(const Frame& frame, const Qp& sender);
  void hand_over(Qp& qp, const wire::Packet& packet);
  DropReason judge(const Qp& qp, const wire::Packet& packet) const;
  void drop(DropReason reason, uint32_t qpn = 0);
  bool for_this_node(const Frame& frame) const;
  void receive_local();
  bool take(const Frame& frame);
  void release_held();
  void expire();
  void take_doorbells();
  void settle();
  uint8_t serve(Qp& qp, Step& step);
  void take_built(const Step& step);
  void loop_back(Step& step, size_t first, const Qp& sender);
  void report(Qp& qp);
  void collect_events(Qp& qp);
  void pull_link_frames();
  void fill_blanks();
  void flush();
  void schedule_timer(Qp& qp, uint8_t work = kAnyWork);
  /// Some of what the QP sends may be for QPs of this engine.
  bool loops_back(const Qp& qp) const {
    return !port_loops_back_ && qp.may_loop_back() &&
           (qp.type() == QpType::ud || place_.owns(qp.core().remote_qpn));
  }
  bool goes_to_another_engine(const Frame& frame) const;
  size_t local_room() const { return kLocalFrames - (local_tail_ - local_head_); }

  Port& port_;
  LocalAddresses addresses_;
  NeighbourTable neighbours_;
  LinkResponder link_;
  RegionTable regions_;
  HoldingPool holding_;  // outlives the QPs
  QpTable qps_;
  Farewells farewells_;
  MulticastTable groups_;
  TimerWheel wheel_;
  Doorbells doorbells_;
  ActiveList active_;
  ActiveList later_;  // those that wait for the next poll, while the others are served
  Instant now_;
  bool same_thread_ = true;
  bool link_up_ = true;
  const EnginePlace place_;
  const bool port_loops_back_;
  const bool selective_;
  bool posted_ = false;        // something was, since the last poll
  bool moved_ = false;         // a frame has come or gone in this poll
  bool answer_waits_ = false;  // for settle(), while the rest of a burst has yet to be looked at

  std::array<Frame, kRxBurst> rx_{};  // the burst being handled; a member, so as not to be cleared
  // Frames for the port: [0, ready_) are built, [ready_, blank_) are blank.
  std::array<Frame, kTxBurst> tx_{};
  size_t ready_ = 0;
  size_t blank_ = 0;
  // Frames to an own address, in a ring.
  std::array<Frame, kLocalFrames> local_{};
  size_t local_head_ = 0;
  size_t local_tail_ = 0;

  const Frame* handled_ = nullptr;  // the one that is on its way in
  QpFetcher fetcher_{qps_};

  EngineCounters counters_;
  QpCounters destroyed_;
  std::deque<EngineEvent> events_;
};

}  // namespace roce
