// When a stream's messages are posted.
// SPDX-License-Identifier: BSD-3-Clause
#include "sender.h"

#include <algorithm>

#include "common/counted_word.h"

namespace uroce::bw {
namespace {

app::Messages messages_of(const Plan& plan) {
  return {.operation = plan.operation,
          .size = plan.size,
          .stride = plan.stride,
          .own_places = plan.places,
          .peer_places = plan.peer_places(),
          .total = plan.iterations,
          .list = plan.post_list,
          .signal_every = plan.cq_moderation,
          .fill = plan.validate && !fetches(plan.operation),
          .pattern = app::Pattern(plan.seed)};
}

}  // namespace

Sender::Sender(const Plan& plan, app::Lane& lane)
    : plan_(plan), poster_(lane, messages_of(plan)), pattern_(plan.seed) {
  pattern_.fill(lane.memory.first(plan.size), 0);
  if (plan.credited()) {
    credits_.emplace(lane, app::Places{}, Plan::kNotices);
  }
}

bool Sender::prepare() {
  return !credits_ || credits_->post_all();
}

bool Sender::post() {
  while (const uint64_t count = postable()) {
    if (!poster_.post(count) ||
        (plan_.credited() && posted() % plan_.group() == 0 && !post_notice())) {
      return false;
    }
  }
  const bool untold = plan_.credited() && posted() == poster_.total() && noticed_ < posted();
  return !untold || post_notice();
}

/// How many messages the next list takes: as many as it holds, or none for now.
uint64_t Sender::postable() const {
  uint64_t count = std::min<uint64_t>(plan_.post_list, poster_.total() - posted());
  if (plan_.credited()) {
    if (posted() / plan_.group() >= credited_ + Plan::kGroups) {
      return 0;
    }
    count = std::min(count, plan_.group() - posted() % plan_.group());
  }
  return plan_.send_depth - poster_.under_way() >= count ? count : 0;
}

/// Tells the receiver that the messages since the last notice are all there.
bool Sender::post_notice() {
  const auto count = static_cast<uint32_t>(posted() - noticed_);
  noticed_ = posted();
  return poster_.post_note(count, false);
}

bool Sender::take() {
  const uint64_t before = completed();
  if (!poster_.take()) {
    return false;
  }
  if (plan_.validate && fetches(plan_.operation)) {
    check(before, completed());
  }
  return !credits_ || credits_->poll([this](const ibv_wc&) {
    ++credited_;
    return true;
  }) >= 0;
}

/// Compares what the READs or atomics `first` to `end` have brought.
void Sender::check(uint64_t first, uint64_t end) {
  for (uint64_t message = first; message < end; ++message) {
    const uint8_t* const at = poster_.place_of(message);
    auto wrong = is_atomic(plan_.operation)
                     ? app::check_word(at, message)
                     : pattern_.check({at, plan_.size}, message % plan_.peer_places());
    if (wrong) {
      wrong->message = message;
    }
    findings_.note(wrong);
  }
}

}  // namespace uroce::bw
