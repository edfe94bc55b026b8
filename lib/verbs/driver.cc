// The engine thread's loop, and the mailbox of depth one in front of it.
// SPDX-License-Identifier: BSD-3-Clause
#include "driver.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

namespace roce::verbs {
namespace {

constexpr Duration kLinkCheckInterval = Duration::from_ms(100);
constexpr uint32_t kPortNumber = 1;

// An engine thread that shares its CPU lets others run after so many turns in which no frame came
// or went; on a CPU of its own that costs nothing that could be measured.
constexpr uint32_t kTurnsBeforeYield = 2048;
// A helper that has had nothing to do for long (a program that waits for its user) sleeps between
// turns.
constexpr uint32_t kTurnsBeforeSleep = 20 * kTurnsBeforeYield;

}  // namespace

void Driver::poll() {
  if (assisted_) {
    if (try_own()) {
      const bool moved = turn();
      pace_.note_poll(last_turn_);
      quiet_polls_ = moved ? 0 : quiet_polls_ + 1;
      const bool yields = quiet_polls_ % kTurnsBeforeYield == kTurnsBeforeYield - 1;
      disown();
      if (yields) {
        sched_yield();
      }
    }
  } else if (!thread_.joinable()) {
    turn();
  }
}

bool Driver::turn() {
  const Instant now = clock_.now();
  ++turns_;
  busy_ns_ += moved_ ? static_cast<uint64_t>((now - last_turn_).ns) : 0;
  last_turn_ = now;
  moved_ = engine_.poll(now);
  if (engine_.has_events()) [[unlikely]] {
    collect_events();
  }
  if (now >= next_link_check_) [[unlikely]] {
    next_link_check_ = now + kLinkCheckInterval;
    watch_link();
    questions_.answer();
  }
  return moved_;
}

void Driver::collect_events() {
  while (const auto event = engine_.take_event()) {
    events_.push(*event);
  }
}

void Driver::watch_link() {
  const bool up = engine_.port().link_up();
  if (up != link_up_) {
    link_up_ = up;
    engine_.set_link_up(up);
    events_.push({up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, kPortNumber});
  }
}

void Driver::own() {
  while (!try_own()) {
    sched_yield();
  }
}

/// Events are passed on before the caller goes on: what it does next may be to give up the queue
/// pair that they are of.
void Driver::execute(const std::function<void()>& f) {
  f();
  if (engine_.has_events()) {
    collect_events();
  }
}

void Driver::call(const std::function<void()>& f) {
  if (assisted_) {
    own();
    execute(f);
    disown();
    return;
  }
  const std::lock_guard one(callers_);
  if (!thread_.joinable()) {
    execute(f);
    return;
  }
  std::unique_lock lock(mutex_);
  call_ = &f;
  call_waiting_.store(true, std::memory_order_release);
  done_.wait(lock, [this] { return call_ == nullptr; });
}

void Driver::serve_call() {
  const std::lock_guard lock(mutex_);
  execute(*call_);
  call_ = nullptr;
  call_waiting_.store(false, std::memory_order_relaxed);
  done_.notify_one();
}

void Driver::loop() {
  uint32_t quiet = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (turn()) {
      quiet = 0;
    } else if (++quiet >= kTurnsBeforeYield) {
      quiet = 0;
      sched_yield();
    }
    if (call_waiting_.load(std::memory_order_acquire)) [[unlikely]] {
      serve_call();
    }
  }
}

Status Driver::start_thread(int cpu, std::function<void()> on_start) {
  const std::lock_guard one(callers_);
  if (thread_.joinable()) {
    return failure(EBUSY, "an engine thread is running already");
  }
  stop_.store(false);
  engine_.set_same_thread(false);
  thread_ = std::thread([this, setup = std::move(on_start)] {
    if (setup) {
      setup();
    }
    loop();
  });
  if (cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<size_t>(cpu), &set);
    const int rc = pthread_setaffinity_np(thread_.native_handle(), sizeof set, &set);
    if (rc != 0) {
      join();
      return failure(rc, "cpu " + std::to_string(cpu) + " for the engine thread: " +
                             std::strerror(rc) + "; choose one that this process may use");
    }
  }
  return {};
}

Status Driver::start_helper(std::function<void()> on_start) {
  const std::lock_guard one(callers_);
  if (thread_.joinable()) {
    return failure(EBUSY, "an engine thread is running already");
  }
  stop_.store(false);
  assisted_ = true;
  engine_.set_same_thread(false);
  thread_ = std::thread([this, setup = std::move(on_start)] {
    if (setup) {
      setup();
    }
    help();
  });
  return {};
}

void Driver::help() {
  uint32_t quiet = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (const Duration nap = pace_.nap(clock_); nap.ns > 0) {
      quiet = 0;
      pace_.sleep(nap);
      continue;
    }
    bool moved = false;
    if (try_own()) {
      moved = turn();
      disown();
    }
    quiet = moved ? 0 : std::min(quiet + 1, kTurnsBeforeSleep);
    if (rest(quiet)) {
      quiet = 0;
    }
  }
}

/// True when somebody has woken it.
bool Driver::rest(uint32_t quiet_turns) {
  if (quiet_turns >= kTurnsBeforeSleep) {
    return pace_.sleep(HelperPace::kShortest);
  }
  if (quiet_turns > 0 && quiet_turns % kTurnsBeforeYield == 0) {
    sched_yield();
  }
  return false;
}

void Driver::stop_thread() {
  const std::lock_guard one(callers_);
  if (thread_.joinable()) {
    join();
  }
}

void Driver::retire() {
  constexpr int kLastTurns = 4;
  run([this] {
    for (int i = 0; i < kLastTurns; ++i) {
      turn();
    }
  });
  stop_thread();
}

void Driver::join() {
  stop_.store(true);
  thread_.join();
  engine_.set_same_thread(true);
  assisted_ = false;
}

}  // namespace roce::verbs
