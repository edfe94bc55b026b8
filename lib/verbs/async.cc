// Asynchronous events: the engine's event bits, one ibv event after the other.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <utility>

#include "events.h"
#include "objects.h"

namespace roce::verbs {
namespace {

/// Overruns come before the QP's own events: first the cause.
constexpr std::array<std::pair<uint8_t, ibv_event_type>, 6> kQpEventTypes = {{
    {kEventRequestError, IBV_EVENT_QP_REQ_ERR},
    {kEventAccessError, IBV_EVENT_QP_ACCESS_ERR},
    {kEventFatal, IBV_EVENT_QP_FATAL},
    {kEventDrained, IBV_EVENT_SQ_DRAINED},
    {kEventEstablished, IBV_EVENT_COMM_EST},
    {kEventLastWqe, IBV_EVENT_QP_LAST_WQE_REACHED},
}};

bool is_of_qp(ibv_event_type type) {
  return std::any_of(kQpEventTypes.begin(), kQpEventTypes.end(),
                     [type](const auto& row) { return row.second == type; });
}

}  // namespace

void EventQueue::add_qp(uint32_t qpn, QpQueues queues) {
  const std::lock_guard lock(mutex_);
  qps_[qpn] = queues;
}

void EventQueue::remove_qp(uint32_t qpn) {
  const std::lock_guard lock(mutex_);
  qps_.erase(qpn);
  const size_t gone = std::erase_if(events_, [qpn](const AsyncEvent& event) {
    return event.object == qpn && is_of_qp(event.type);
  });
  for (size_t i = 0; watched_ && i < gone; ++i) {
    fd_.try_down();
  }
}

void EventQueue::remove_cq(uint32_t handle) {
  const std::lock_guard lock(mutex_);
  overrun_.erase(handle);
}

void EventQueue::push(AsyncEvent event) {
  const std::lock_guard lock(mutex_);
  push_locked(event);
}

void EventQueue::push_locked(AsyncEvent event) {
  events_.push_back(event);
  if (watched_) {
    fd_.up();
  }
}

void EventQueue::push_overrun(uint32_t cq) {
  if (overrun_.insert(cq).second) {
    push_locked({IBV_EVENT_CQ_ERR, cq});
  }
}

void EventQueue::push(const EngineEvent& event) {
  const std::lock_guard lock(mutex_);
  if (event.source == EngineEvent::Source::shared_receives) {
    push_locked({IBV_EVENT_SRQ_LIMIT_REACHED, event.id});
    return;
  }
  const auto qp = qps_.find(event.id);
  if (qp == qps_.end()) {
    return;  // destroyed meanwhile: nobody is left to be told
  }
  if ((event.bits & kEventSendCqOverrun) != 0) {
    push_overrun(qp->second.send_cq);
  }
  if ((event.bits & kEventRecvCqOverrun) != 0) {
    push_overrun(qp->second.recv_cq);
  }
  for (const auto& [bit, type] : kQpEventTypes) {
    if ((event.bits & bit) != 0) {
      push_locked({type, event.id});
    }
  }
}

std::optional<AsyncEvent> EventQueue::take() {
  const std::lock_guard lock(mutex_);
  if (events_.empty()) {
    return std::nullopt;
  }
  const AsyncEvent event = events_.front();
  events_.pop_front();
  if (watched_) {
    fd_.try_down();
  }
  return event;
}

int EventQueue::fd() {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; !watched_ && i < events_.size(); ++i) {
    fd_.up();
  }
  watched_ = true;
  return fd_.get();
}

std::optional<AsyncEvent> Device::take_async_event() {
  if (const auto event = state_->events.take()) {
    return event;
  }
  // What the engine has noted since its last turn.
  state_->driver.run([] {});
  return state_->events.take();
}

int Device::async_fd() const {
  return state_->events.fd();
}

}  // namespace roce::verbs
