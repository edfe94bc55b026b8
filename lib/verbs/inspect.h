// What telemetry needs of a device beside the engine's own tables: which queues and regions there
// are, and how a foreign thread gets the engine's thread to tell.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace roce::verbs::detail {

struct CqState;

/// The completion queues and the keys of the regions that there are. Thread: any.
class ObjectList {
 public:
  void add_cq(const CqState* cq) {
    const std::lock_guard lock(mutex_);
    cqs_.push_back(cq);
  }
  void remove_cq(const CqState* cq) {
    const std::lock_guard lock(mutex_);
    std::erase(cqs_, cq);
  }
  void add_key(uint32_t key) {
    const std::lock_guard lock(mutex_);
    keys_.push_back(key);
  }
  void remove_key(uint32_t key) {
    const std::lock_guard lock(mutex_);
    std::erase(keys_, key);
  }

  /// None of them goes before this returns.
  template <class VisitCq, class VisitKey>
  void for_each(const VisitCq& visit_cq, const VisitKey& visit_key) const {
    const std::lock_guard lock(mutex_);
    std::for_each(cqs_.begin(), cqs_.end(), visit_cq);
    std::for_each(keys_.begin(), keys_.end(), visit_key);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<const CqState*> cqs_;
  std::vector<uint32_t> keys_;
};

/// A question to the engine's thread, answered when it next looks at what is not urgent.
class Questions {
 public:
  /// Thread: any but the engine's. False: nobody drove the engine within `patience`, and `question`
  /// will not be called any more.
  bool ask(const std::function<void()>& question, std::chrono::nanoseconds patience) {
    const std::lock_guard one(askers_);
    std::unique_lock lock(mutex_);
    question_ = &question;
    waiting_.store(true, std::memory_order_release);
    const bool done = answered_.wait_for(lock, patience, [this] { return question_ == nullptr; });
    question_ = nullptr;
    waiting_.store(false, std::memory_order_relaxed);
    return done;
  }

  /// Thread: the engine's.
  void answer() {
    if (waiting_.load(std::memory_order_acquire)) {
      const std::lock_guard lock(mutex_);
      if (question_ != nullptr) {
        (*question_)();
        question_ = nullptr;
        answered_.notify_one();
      }
    }
  }

 private:
  std::mutex askers_;
  std::mutex mutex_;
  std::condition_variable answered_;
  const std::function<void()>* question_ = nullptr;  // guarded by mutex_
  std::atomic<bool> waiting_{false};
};

}  // namespace roce::verbs::detail
