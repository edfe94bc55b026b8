// Who is remembered for how long, and the ACKs.
// SPDX-License-Identifier: BSD-3-Clause
#include "engine/farewells.h"

#include <algorithm>

#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/syndrome.h"

namespace roce {
namespace {

/// Times that a peer with the same ACK timeout as ours asks, at the least.
constexpr int kQuestions = 4;
/// More than a program closes at once; older ones are forgotten first come, first gone.
constexpr size_t kMostDeparted = 4096;

}  // namespace

Duration Farewells::patience(const Qp& qp) {
  if (!qp.owes_acknowledgement()) {
    return {};
  }
  const uint8_t code = qp.core().attr.timeout;
  const Duration patience = wire::ack_timeout(code) * kQuestions;
  return code == 0 ? kMostPatience : std::min(patience, kMostPatience);
}

void Farewells::add(const Qp& qp, Instant now) {
  const Duration time = patience(qp);
  if (time == Duration{}) {
    return;
  }
  forget_old(now);
  const auto [at, added] = departed_.try_emplace(qp.qpn());
  if (added) {
    order_.push_back(qp.qpn());
  }
  Departed& d = at->second;
  d.path = qp.core().path;
  d.last = qp.last_executed();
  d.msn = qp.executed_messages();
  d.pkey = qp.core().pkey;
  d.until = now + time;
}

/// One whose time is longer than the others' holds those back that came after it; it is no long
/// time.
void Farewells::forget_old(Instant now) {
  while (!order_.empty()) {
    const auto oldest = departed_.find(order_.front());
    const Departed& d = oldest->second;
    if (order_.size() < kMostDeparted && (d.due || d.until > now)) {
      return;
    }
    due_ -= d.due ? 1 : 0;
    departed_.erase(oldest);
    order_.pop_front();
  }
}

bool Farewells::take(Instant now, const wire::Packet& packet) {
  const auto at = departed_.find(packet.dest_qp);
  if (at == departed_.end()) {
    return false;
  }
  Departed& d = at->second;
  const wire::Verb verb = packet.info->verb;
  const bool acknowledged = packet.info->known && packet.transport() == QpType::rc &&
                            (verb == wire::Verb::send || verb == wire::Verb::write);
  if (!acknowledged || now >= d.until || packet.psn.since(d.last) > 0 ||
      !wire::pkeys_match(packet.pkey, d.pkey) || !d.path.matches(packet)) {
    return false;
  }
  due_ += d.due ? 0 : 1;
  d.due = true;
  return true;
}

void Farewells::pull(Step& step) {
  constexpr uint8_t kAck = wire::opcode_of(QpType::rc, wire::Operation::acknowledge);
  for (auto at = departed_.begin(); due_ > 0 && !step.full() && at != departed_.end(); ++at) {
    Departed& d = at->second;
    if (d.due) {
      uint8_t* const ext = step.open(d.path, {.opcode = kAck, .psn = d.last});
      wire::Aeth{wire::kSyndromeAck, d.msn}.emit(ext);
      step.close();
      d.due = false;
      --due_;
    }
  }
  step.finish();
}

Instant Farewells::until() const {
  Instant latest;
  for (const auto& [qpn, d] : departed_) {
    latest = std::max(latest, d.until);
  }
  return latest;
}

}  // namespace roce
