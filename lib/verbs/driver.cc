// The engine thread's loop, and the mailbox of depth one in front of it.
// SPDX-License-Identifier: BSD-3-Clause
#include "driver.h"

#include <pthread.h>
#include <sched.h>

#include <cstring>
#include <string>

namespace roce::verbs {
namespace {

constexpr Duration kLinkCheckInterval = Duration::from_ms(100);
constexpr uint32_t kPortNumber = 1;

// An engine thread that shares its CPU lets others run after so many turns in which no frame came
// or went; on a CPU of its own that costs nothing that could be measured.
constexpr uint32_t kTurnsBeforeYield = 2048;

}  // namespace

void Driver::poll() {
  if (!thread_.joinable()) {
    turn();
  }
}

bool Driver::turn() {
  const Instant now = clock_.now();
  const bool moved = engine_.poll(now);
  if (engine_.has_events()) [[unlikely]] {
    collect_events();
  }
  if (now >= next_link_check_) [[unlikely]] {
    next_link_check_ = now + kLinkCheckInterval;
    watch_link();
  }
  return moved;
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
    events_.push({up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, kPortNumber});
  }
}

void Driver::run(const std::function<void()>& f) {
  const std::lock_guard one(callers_);
  if (!thread_.joinable()) {
    f();
    return;
  }
  std::unique_lock lock(mutex_);
  call_ = &f;
  call_waiting_.store(true, std::memory_order_release);
  done_.wait(lock, [this] { return call_ == nullptr; });
}

void Driver::serve_call() {
  const std::lock_guard lock(mutex_);
  (*call_)();
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

void Driver::stop_thread() {
  const std::lock_guard one(callers_);
  if (thread_.joinable()) {
    join();
  }
}

void Driver::join() {
  stop_.store(true);
  thread_.join();
  engine_.set_same_thread(true);
}

}  // namespace roce::verbs
