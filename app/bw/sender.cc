// When a stream's messages are posted.
// SPDX-License-Identifier: BSD-3-Clause
#include "sender.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

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
          .numbered = plan.unreliable(),
          .inlined = plan.inlined,
          .fill = plan.validate && !fetches(plan.operation),
          .pattern = app::Pattern(plan.seed)};
}

}  // namespace

Sender::Sender(const Plan& plan, app::Lane& lane, std::shared_ptr<app::Receives> credits)
    : plan_(plan),
      lane_(lane),
      poster_(lane, messages_of(plan)),
      credits_(std::move(credits)),
      pattern_(plan.seed) {
  pattern_.fill(lane.memory.first(plan.size), 0);
}

bool Sender::post(uint64_t& quota) {
  while (const uint64_t count = postable(quota)) {
    quota -= count;
    if (!poster_.post(count) ||
        (plan_.credited() && posted() % plan_.group() == 0 && !post_notice())) {
      return false;
    }
  }
  const bool untold = plan_.credited() && posted() == poster_.total() && noticed_ < posted();
  return !untold || post_notice();
}

/// How many messages the next list takes: as many as it holds, or none for now.
uint64_t Sender::postable(uint64_t quota) const {
  uint64_t count = std::min<uint64_t>({plan_.post_list, poster_.total() - posted(), quota});
  if (plan_.credited()) {
    if (posted() / plan_.group() >= credited_ / plan_.group() + Plan::kGroups) {
      return 0;
    }
    count = std::min(count, plan_.group() - posted() % plan_.group());
  }
  return plan_.send_depth - poster_.under_way() >= count ? count : 0;
}

/// Tells the receiver how many messages are there.
bool Sender::post_notice() {
  noticed_ = posted();
  return poster_.post_note(static_cast<uint32_t>(noticed_), false);
}

bool Sender::nudge() {
  const bool lost = plan_.credited() && plan_.unreliable() && credited_ < noticed_;
  return !lost || poster_.notes_under_way() > 0 ||
         poster_.post_note(static_cast<uint32_t>(noticed_), true);
}

bool Sender::done() const {
  // What may be lost is only known to be there by its credit.
  const bool told = !plan_.credited() || !plan_.unreliable() || credited_ >= poster_.total();
  return poster_.completed() >= poster_.total() && told;
}

bool Sender::take() {
  const uint64_t before = completed();
  if (!poster_.take()) {
    return false;
  }
  if (plan_.validate && fetches(plan_.operation)) {
    check(before, completed());
  }
  return !credits_ ||
         credits_->poll(lane_, [this](const ibv_wc& wc) { return take_credit(wc); }) >= 0;
}

bool Sender::take_credit(const ibv_wc& wc) {
  const uint32_t more = ntohl(wc.imm_data) - static_cast<uint32_t>(credited_);
  if (more <= noticed_ - credited_) {  // else one that is late
    credited_ += more;
  }
  return true;
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
