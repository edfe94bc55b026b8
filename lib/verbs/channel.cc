// Completion channels.
// SPDX-License-Identifier: BSD-3-Clause
#include "channel.h"

#include <algorithm>

#include "objects.h"

namespace roce::verbs {
namespace detail {

void ChannelState::tell(CqState& cq) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(&cq);
  }
  fd_.up();
}

std::shared_ptr<CqState> ChannelState::take() {
  // A count without an event belonged to a queue that has gone.
  while (fd_.down()) {
    const std::lock_guard lock(mutex_);
    while (!events_.empty()) {
      std::shared_ptr<CqState> cq = events_.front()->weak_from_this().lock();
      events_.pop_front();
      if (cq != nullptr) {
        ++cq->unacknowledged;
        return cq;
      }
    }
  }
  return nullptr;
}

void ChannelState::forget(const CqState& cq) {
  const std::lock_guard lock(mutex_);
  for (auto at = events_.begin(); at != events_.end();) {
    if (*at == &cq) {
      at = events_.erase(at);
      fd_.try_down();
    } else {
      ++at;
    }
  }
}

CqState::~CqState() {
  device->objects.remove_cq(this);
  if (channel != nullptr) {
    channel->forget(*this);
  }
  device->events.remove_cq(handle);
  device->cqs.give_back();
}

}  // namespace detail

int CompChannel::fd() const {
  return state_->fd();
}

std::optional<Cq> CompChannel::get_event() {
  std::shared_ptr<detail::CqState> cq = state_->take();
  return cq != nullptr ? std::optional<Cq>(Cq(std::move(cq))) : std::nullopt;
}

Result<CompChannel> Device::create_comp_channel() {
  return CompChannel(std::make_shared<detail::ChannelState>());
}

}  // namespace roce::verbs
