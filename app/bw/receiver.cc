// What comes of a stream.
// SPDX-License-Identifier: BSD-3-Clause
#include "receiver.h"

#include <arpa/inet.h>

#include <fmt/format.h>

namespace uroce::bw {

Receiver::Receiver(const Plan& plan, app::Lane& lane)
    : plan_(plan), memory_(lane.memory.data()), pattern_(plan.seed) {
  if (plan.credited()) {
    receives_.emplace(lane, app::Places{}, Plan::kNotices);
    credits_.emplace(lane, app::Messages{});
  } else if (takes_receive(plan.operation)) {
    const bool placed = plan.operation == app::Operation::send;
    receives_.emplace(
        lane, placed ? app::Places{memory_, plan.size, plan.stride, plan.places} : app::Places{},
        plan.recv_depth);
  }
}

bool Receiver::prepare() {
  if (plan_.operation == app::Operation::read) {
    for (uint64_t i = 0; i < plan_.peer_places(); ++i) {
      pattern_.fill({place_of(i, plan_.peer_places()), plan_.size}, i);
    }
  } else if (is_atomic(plan_.operation)) {
    app::set_word(memory_, app::word_before(0));
  }
  if (receives_ && !receives_->post_all()) {
    reason_ = receives_->reason();
    return false;
  }
  return true;
}

int Receiver::take() {
  if (credits_ && !credits_->take()) {
    reason_ = credits_->reason();
    return -1;
  }
  if (!receives_) {
    return 0;
  }
  const int count = receives_->poll(
      [this](const ibv_wc& wc) { return credits_ ? take_notice(wc) : take_message(wc); });
  if (count < 0 && reason_.empty()) {
    reason_ = receives_->reason();
  }
  return count;
}

/// Whether this can be the next message.
bool Receiver::fits(const ibv_wc& wc) {
  if (wc.byte_len != plan_.size) {
    reason_ = fmt::format("message {} has {} bytes, not {}", received_, wc.byte_len, plan_.size);
    return false;
  }
  const auto number = static_cast<uint32_t>(received_ + 1);
  if (plan_.operation == app::Operation::write_imm && ntohl(wc.imm_data) != number) {
    reason_ = fmt::format("immediate data {} came where {} were due", ntohl(wc.imm_data), number);
    return false;
  }
  return true;
}

bool Receiver::take_message(const ibv_wc& wc) {
  if (!fits(wc)) {
    return false;
  }
  if (plan_.validate) {
    const bool placed = plan_.operation == app::Operation::send;
    const uint8_t* const at =
        placed ? receives_->place_of(wc) : place_of(received_, plan_.peer_places());
    findings_.note(pattern_.check({at, plan_.size}, received_));
  }
  ++received_;
  return true;
}

/// Compares the messages that a notice tells of, and lets the sender write there again.
bool Receiver::take_notice(const ibv_wc& wc) {
  const uint64_t count = ntohl(wc.imm_data);
  if ((wc.wc_flags & IBV_WC_WITH_IMM) == 0 || count > plan_.group()) {
    reason_ = fmt::format("a notice of {} messages came where at most {} are in a group", count,
                          plan_.group());
    return false;
  }
  for (uint64_t i = 0; i < count; ++i, ++received_) {
    findings_.note(pattern_.check({place_of(received_, plan_.ring()), plan_.size}, received_));
  }
  if (!credits_->post_note(0, true)) {
    reason_ = credits_->reason();
    return false;
  }
  return true;
}

}  // namespace uroce::bw
