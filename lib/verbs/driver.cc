// The engine thread's loop, and the mailbox of depth one in front of it.
// SPDX-License-Identifier: BSD-3-Clause
#include "driver.h"

#include <pthread.h>
#include <sched.h>

#include <cstring>
#include <string>

namespace roce::verbs {

void Driver::poll() {
  if (!thread_.joinable()) {
    engine_.poll(clock_.now());
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
  while (!stop_.load(std::memory_order_relaxed)) {
    engine_.poll(clock_.now());
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
