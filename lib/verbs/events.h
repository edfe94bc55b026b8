// EventQueue: asynchronous events on their way from the engine to the application, with an eventfd
// that counts them from the moment on that somebody wants it: system calls for nobody would be made
// on the engine's thread.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include <roce/verbs.h>

#include "engine/engine.h"
#include "semaphore_fd.h"

namespace roce::verbs {

class EventQueue {
 public:
  /// Which completion queues a QP uses: an overrun is theirs.
  struct QpQueues {
    uint32_t send_cq = 0;
    uint32_t recv_cq = 0;
  };

  /// Thread: any, for every method.
  void add_qp(uint32_t qpn, QpQueues queues);
  /// Its events that nobody has taken go with it; an overrun is its queue's and stays.
  void remove_qp(uint32_t qpn);
  void remove_cq(uint32_t handle);

  void push(AsyncEvent event);
  /// One engine event may be several of the application's.
  void push(const EngineEvent& event);
  std::optional<AsyncEvent> take();
  int fd();

 private:
  void push_locked(AsyncEvent event);
  void push_overrun(uint32_t cq);

  std::mutex mutex_;
  std::deque<AsyncEvent> events_;
  std::map<uint32_t, QpQueues> qps_;
  std::set<uint32_t> overrun_;  // queues whose overrun has been told
  SemaphoreFd fd_{SemaphoreFd::Mode::blocking};
  bool watched_ = false;  // the descriptor has been asked for
};

}  // namespace roce::verbs
