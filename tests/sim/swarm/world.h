// World: one schedule, run: hosts on a network in virtual time, what their users do, and the model
// that says what must come of it. Everything follows from the options and the plan.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <roce/verbs.h>

#include "base/prng.h"
#include "sim/swarm/model.h"
#include "sim/swarm/network.h"
#include "sim/swarm/options.h"
#include "sim/swarm/parts.h"
#include "sim/swarm/script_writer.h"

namespace roce::swarm {

/// What a schedule came to.
struct Totals {
  uint64_t frames = 0;
  uint64_t packets = 0;
  uint64_t retransmitted = 0;
  uint64_t timeouts = 0;
  uint64_t naks = 0;
  uint64_t requests = 0;  ///< posted
  uint64_t copies = 0;    ///< of datagrams to groups, received
  uint64_t overruns = 0;  ///< of completion queues
  Duration took;          ///< virtual time
};

/// Told in words about each step of a schedule.
using Tell = std::function<void(Instant, const std::string&)>;

/// Who watches a schedule; nobody by default.
struct Watch {
  Tell tell = {};
  std::string captures = {};       ///< a capture of each port, PREFIX-0.pcap and so on
  ScriptWriter* script = nullptr;  ///< requires Options::settled
};

class World {
 public:
  World(const Options& options, std::vector<Event> plan, Watch watch = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Runs all of it. Empty, or the first violation.
  std::string run();
  const Totals& totals() const { return totals_; }

 private:
  class SimClock final : public verbs::Clock {
   public:
    Instant now() override { return now_; }
    void set(Instant t) { now_ = t; }

   private:
    Instant now_{1'000'000'000};
  };

  // --- life (world.cc)
  void fail(const std::string& what);
  bool failed() const { return !problem_.empty(); }
  void say(const std::string& what);
  Instant now() { return clock_.now(); }
  void step();
  void turn();
  void settle();
  bool run_until(const std::function<bool()>& done, Instant limit);
  Instant next_event() const;
  Duration liveness_bound() const;
  bool idle() const;
  void fill_all_receives();
  void drain();
  void close_all();

  // --- hosts (host.cc)
  void start_host(Host& host);
  void make_objects(Host& host);
  size_t cq_entries(Prng& prng) const;
  void stop_host(Host& host, bool crash);
  void check_host(Host& host);
  void check_counters(Host& host);
  void check_pool(Host& host);
  void compare(Host& host);
  std::vector<Range> open_ranges(const Host& host) const;

  // --- connections (connecting.cc)
  void connect_new(uint64_t seed);
  bool set_up_end(End& end, ibv_qp_type type, Prng& prng);
  bool reserve_window(End& end);
  bool make_qp(End& end);
  bool make_ready(Connection& c);
  bool modify(End& end, const ibv_qp_attr& attr, int mask);
  ibv_qp_attr way_to_peer(const Connection& c, const End& end) const;
  void break_connection(Connection& c);
  void close_gently(Connection& c);
  void close_at_once(Connection& c);
  void reset_both(Connection& c);
  void retire(End& end);
  void retire_send(End& end, SendRecord& record);
  void settle_window(End& end);
  void finish(Connection& c);
  void close_flushed(Connection& c);
  void resume(End& end);
  void look_after(Connection& c);
  std::vector<Effect> effects_on(const End& end) const;

  // --- multicast (groups.cc)
  void join(End& end, Prng& prng);
  void leave(End& end, Prng& prng);
  ibv_ah* way_to_group(End& end, size_t group);
  bool take_copy(End& end, const ReceiveRecord& record, const ibv_wc& wc);
  bool must_have_copy(const End& end, const GroupMessage& m) const;
  void check_copies();

  // --- completion queues that overrun (overruns.cc)
  void take_events(Host& host);
  void on_cq_error(Host& host, uint32_t handle);
  void on_fatal(Host& host, uint32_t qpn);
  void judge_room(Host& host, size_t cq, size_t taken, int last);
  void disturb(Host& host);
  void give_up_receives(End& end, uint64_t before);

  // --- the plan (events.cc)
  void execute(const Event& event);
  void execute_on_end(const Event& event, Prng& prng);
  void execute_fault(const Event& event, Prng& prng);
  void leap(Duration by);
  void restart(Host& host);
  void pause(End& end, Prng& prng);
  void reregister(End& end);
  void deregister(End& end);
  void resize(Host& host, Prng& prng);
  Connection* choose_live(Prng& prng);

  // --- posting (posting.cc, windows.cc)
  struct Draft;
  void post_sends(End& end, Prng& prng);
  void post_spoiled(End& end, Prng& prng);
  void post_marker(End& end);
  void post_bind(End& end, Prng& prng);
  void post_invalidate(End& end);
  int post_receive(End& end, const ReceiveRecord& record);
  void fill_receives(End& end);
  bool draft(End& end, Prng& prng, Draft& draft);
  bool draft_data(End& end, Prng& prng, Draft& draft);
  void draft_remote(End& end, Prng& prng, Draft& draft);
  void draft_atomic(End& end, Prng& prng, Draft& draft);
  void draft_flags(End& end, Prng& prng, Draft& draft);
  Op choose_op(const End& end, Prng& prng) const;
  size_t choose_size(const End& end, Prng& prng) const;
  Pieces split(Range slot, size_t size, Prng& prng) const;
  void post(End& end, std::vector<Draft>& drafts);
  void posted(End& end, Draft& draft);

  // --- what a ScriptWriter is told (scripting.cc)
  ScriptWriter* scribe_of(const End& end) const;
  ScriptWriter* scribe_of_request(const End& end) const;
  void begin_script(const Connection& c);
  void script_posts(const End& end, std::span<const Draft> drafts);
  void script_completion(const Host& host, const ibv_wc& wc);
  void script_drops(const Host& host);
  void refuse_script(const Host& host, const char* why);

  // --- completions (judging.cc)
  struct Seen;
  bool sort(Host& host, const ibv_wc& wc, std::vector<Seen>& receives, std::vector<Seen>& sends);
  void poll_all();
  void on_sent(End& end, const ibv_wc& wc);
  void on_received(End& end, const ibv_wc& wc);
  void succeed(End& end, SendRecord& record);
  void end_in_error(End& end, SendRecord& record, const ibv_wc& wc);
  void check_written(End& end, const SendRecord& record);
  void check_read(End& end, const SendRecord& record);
  void note_atomic(End& end, const SendRecord& record);
  bool tolerates(const End& end, const SendRecord& record, ibv_wc_status status) const;
  bool tolerates_receive(const End& end, ibv_wc_status status) const;
  void match(End& end, const ReceiveRecord& record, const ibv_wc& wc);
  bool matches(End& end, const ReceiveRecord& record, const ibv_wc& wc, const Message& m) const;
  Range take(Host& host, size_t size);
  void release(Host& host, Range slot);
  void adopt(Host& host, const Pieces& pieces);
  Bytes gather(Host& host, const Pieces& pieces, size_t skip, size_t size) const;
  std::string describe(const End& end) const;

  Options options_;
  std::vector<Event> plan_;
  Watch watch_;
  SimClock clock_;
  Prng prng_;  // keys, QPNs
  Network network_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<GroupMessage> group_sent_;
  std::vector<size_t> copied_;  // messages of which copies came since the last look
  Prng moods_;                  // whether the application looks at its completions
  size_t next_in_plan_ = 0;
  uint64_t next_id_ = 1;
  uint64_t next_va_ = 1;
  bool rough_ = false;  // frames may get lost or late
  bool draining_ = false;
  std::string problem_;
  Totals totals_;
};

}  // namespace roce::swarm
