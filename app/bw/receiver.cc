// What comes of a stream.
// SPDX-License-Identifier: BSD-3-Clause
#include "receiver.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace uroce::bw {

Receiver::Receiver(const Plan& plan, app::Lane& lane, std::shared_ptr<app::Receives> receives)
    : plan_(plan),
      lane_(lane),
      memory_(lane.memory.data()),
      receives_(std::move(receives)),
      pattern_(plan.seed) {
  if (plan.credited()) {
    credits_.emplace(lane, app::Messages{});
  }
}

void Receiver::prepare() {
  if (plan_.operation == app::Operation::read) {
    for (uint64_t i = 0; i < plan_.peer_places(); ++i) {
      pattern_.fill({place_of(i, plan_.peer_places()), plan_.size}, i);
    }
  } else if (is_atomic(plan_.operation)) {
    app::set_word(memory_, app::word_before(0));
  }
}

int Receiver::take() {
  if (credits_ && !credits_->take()) {
    reason_ = credits_->reason();
    return -1;
  }
  if (!receives_) {
    return 0;
  }
  const int count = receives_->poll(lane_, [this](const ibv_wc& wc) { return take(wc); });
  if (count < 0 && reason_.empty()) {
    reason_ = receives_->reason();
  }
  return count;
}

bool Receiver::take(const ibv_wc& wc) {
  const bool notice = plan_.credited() && wc.opcode == IBV_WC_RECV;
  return notice ? take_notice(wc) : take_message(wc);
}

/// How far `number`, the 32 bits of it that came, is ahead of what is settled; nothing when it is
/// known already, which only happens where packets may come twice.
std::optional<uint32_t> Receiver::ahead(uint64_t number) {
  const uint32_t distance = static_cast<uint32_t>(number) - static_cast<uint32_t>(settled_);
  constexpr uint32_t kHalf = uint32_t{1} << 31U;
  return distance == 0 || distance >= kHalf ? std::nullopt : std::optional(distance);
}

bool Receiver::take_message(const ibv_wc& wc) {
  if (receives_->length_of(wc) != plan_.size && plan_.operation == app::Operation::send) {
    reason_ = fmt::format("message {} has {} bytes, not {}", settled_, receives_->length_of(wc),
                          plan_.size);
    return false;
  }
  const bool numbered = (wc.wc_flags & IBV_WC_WITH_IMM) != 0;
  const auto distance = numbered ? ahead(ntohl(wc.imm_data)) : std::optional(1U);
  if (!plan_.unreliable() && distance != 1U) {
    reason_ =
        fmt::format("immediate data {} came where {} were due", ntohl(wc.imm_data), settled_ + 1);
    return false;
  }
  if (!distance) {
    return true;
  }
  skip_to(settled_ + *distance - 1);
  if (plan_.validate) {
    compare(plan_.operation == app::Operation::send ? receives_->place_of(wc)
                                                    : place_of(settled_, plan_.peer_places()),
            settled_);
  }
  ++settled_;
  ++received_;
  return true;
}

/// Settles the messages that a notice tells of, and lets the sender write there again.
bool Receiver::take_notice(const ibv_wc& wc) {
  if (const auto distance = ahead(ntohl(wc.imm_data))) {
    if (*distance > plan_.ring()) {
      reason_ = fmt::format("a notice of {} messages came where at most {} are under way",
                            *distance, plan_.ring());
      return false;
    }
    const uint64_t end = settled_ + *distance;
    for (; plan_.operation == app::Operation::write && settled_ < end; ++settled_) {
      const uint64_t lost = findings_.lost;
      compare(place_of(settled_, plan_.ring()), settled_);
      received_ += findings_.lost == lost ? 1 : 0;
    }
    skip_to(end);
  }
  if (plan_.unreliable() && credits_->notes_under_way() >= Plan::kNotices) {
    return true;  // the notice will be repeated
  }
  if (!credits_->post_note(static_cast<uint32_t>(settled_), true)) {
    reason_ = credits_->reason();
    return false;
  }
  return true;
}

/// What was not seen before `message` is lost. Its places hold what came of it, which is cleared.
void Receiver::skip_to(uint64_t message) {
  for (; settled_ < message; ++settled_) {
    ++findings_.lost;
    if (plan_.credited()) {
      std::memset(place_of(settled_, plan_.ring()), 0, plan_.size);
    }
  }
}

/// Over UC the place is cleared for the next message: one that came in part is its beginning and
/// zeros, and counts as lost.
void Receiver::compare(uint8_t* at, uint64_t message) {
  const auto wrong = pattern_.check({at, plan_.size}, message);
  if (!plan_.credited() || !plan_.unreliable()) {
    findings_.note(wrong);
    return;
  }
  const bool cut = wrong && std::all_of(at + wrong->offset, at + plan_.size,
                                        [](uint8_t byte) { return byte == 0; });
  if (cut) {
    ++findings_.lost;
  } else {
    findings_.note(wrong);
  }
  std::memset(at, 0, plan_.size);
}

}  // namespace uroce::bw
