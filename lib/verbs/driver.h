// Driver: runs an engine inside the caller's own poll(), or on a thread of its own, or assisted: in
// whoever polls, and on a helper thread while nobody does. Gets control calls executed on whichever
// thread the engine belongs to.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include <roce/verbs.h>

#include "base/result.h"
#include "engine/engine.h"
#include "events.h"
#include "helper_pace.h"
#include "inspect.h"

namespace roce::verbs {

class Driver {
 public:
  Driver(Engine& engine, Clock& clock, EventQueue& events)
      : engine_(engine), clock_(clock), events_(events), link_up_(engine.port().link_up()) {
    engine_.set_link_up(link_up_);
  }
  ~Driver() { stop_thread(); }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// One turn of the engine on the calling thread. Does nothing while a thread drives it; assisted,
  /// nothing while another thread is at it.
  void poll();

  /// Calls `f` on the engine's thread, between two turns, and returns when it is done and what the
  /// engine has noted is passed on.
  template <class F>
  void run(const F& f) {
    call(std::cref(f));  // what refers to `f` fits a std::function without an allocation
  }

  /// Calls `f` on the engine's thread within a tenth of a second, without cost while nobody asks.
  /// False: nobody drove the engine for `patience`. Thread: any but the engine's.
  bool ask(const std::function<void()>& f, std::chrono::nanoseconds patience) {
    return questions_.ask(f, patience);
  }
  /// Turns so far, and the time that began with turns in which a frame came or went. Thread: the
  /// engine's.
  uint64_t turns() const { return turns_; }
  uint64_t busy_ns() const { return busy_ns_; }

  /// The application is about to wait for an event: assisted, the helper takes over at once.
  /// Thread: any.
  void expect_wait() {
    if (assisted_) {
      pace_.note_wait();
    }
  }

  Status start_thread(int cpu, std::function<void()> on_start);
  Status start_helper(std::function<void()> on_start);
  void stop_thread();
  /// Sends what is still due and takes the engine out of service.
  void retire();

 private:
  void call(const std::function<void()>& f);
  void execute(const std::function<void()>& f);
  /// True when a frame came or went.
  bool turn();
  /// Passes on what the engine has noted.
  void collect_events();
  void watch_link();
  void loop();
  void help();
  bool rest(uint32_t quiet_turns);
  bool try_own() { return !owned_.exchange(true, std::memory_order_acquire); }
  void own();
  void disown() { owned_.store(false, std::memory_order_release); }
  void serve_call();
  void join();

  Engine& engine_;
  Clock& clock_;
  EventQueue& events_;
  bool link_up_;
  Instant next_link_check_;
  detail::Questions questions_;
  uint64_t turns_ = 0;
  uint64_t busy_ns_ = 0;
  Instant last_turn_;
  bool moved_ = false;  // in the last turn
  std::thread thread_;
  std::atomic<bool> stop_{false};
  // Assisted: whoever sets `owned_` is the engine's thread until it clears it again.
  bool assisted_ = false;
  std::atomic<bool> owned_{false};
  uint32_t quiet_polls_ = 0;  // the owner's
  HelperPace pace_;
  // One control call at a time: rare, and its caller waits anyway.
  std::mutex callers_;
  std::mutex mutex_;
  std::condition_variable done_;
  const std::function<void()>* call_ = nullptr;  // guarded by mutex_
  std::atomic<bool> call_waiting_{false};
};

}  // namespace roce::verbs
