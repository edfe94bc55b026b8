// Gaps in the responder's input: what comes too early is kept, what is late is waited for, what is
// lost is reported (docs/rules.md R1, R18).
// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include "base/trace.h"
#include "qp/responder.h"

namespace roce {
namespace {

/// A packet is lost, not late, when so many later ones have come, or when it has not come for so
/// long; for a QP that keeps what comes too early.
constexpr int32_t kReordered = 64;
constexpr Duration kReorderPatience = Duration::from_us(100);

}  // namespace

DropReason Responder::on_ahead(Instant now, const wire::Packet& packet, int32_t distance,
                               const RegionTable& regions) {
  if (rnr_nak_sent_) {
    return DropReason::rnr_wait;
  }
  if (!gap_nak_sent_ && gap_deadline_ == kNever) {
    trace::gap(core_.qpn, expected_.value(), packet.psn.value());
  }
  const HeldPackets::Kept kept = keep(packet, distance, regions);
  if (!gap_nak_sent_) {
    if (kept == HeldPackets::Kept::no || distance > kReordered) {
      nak_gap();
    } else if (gap_deadline_ == kNever) {
      gap_deadline_ = now + kReorderPatience;
    }
  }
  switch (kept) {
    case HeldPackets::Kept::yes:
      return DropReason::none;
    case HeldPackets::Kept::twice:
      ++core_.counters.duplicate_requests;
      return DropReason::duplicate_request;
    case HeldPackets::Kept::no:
      break;
  }
  return DropReason::out_of_sequence;
}

/// A part of the WRITE that is being received is placed at once: behind the gap there is no time
/// for it. Anything else waits in its frame, since it may only take effect in its turn.
HeldPackets::Kept Responder::keep(const wire::Packet& packet, int32_t distance,
                                  const RegionTable& regions) {
  uint8_t* const to = open_ == Open::write && packet.info->verb == wire::Verb::write &&
                              allows(core_.attr.access, Access::remote_write)
                          ? write_.place_of_early(packet, distance, core_.pmtu(), regions, user())
                          : nullptr;
  const HeldPackets::Kept kept = held_.keep(packet, distance, to != nullptr);
  if (to != nullptr && kept == HeldPackets::Kept::yes) {
    std::memcpy(to, packet.payload, packet.payload_len);
  }
  return kept;
}

/// R1: once a gap.
void Responder::nak_gap() {
  ++core_.counters.sequence_naks_sent;
  gap_nak_sent_ = true;
  urgent_ = true;
  gap_deadline_ = kNever;
  answer_ = Answer::nak;
  syndrome_ = wire::nak_syndrome(wire::NakCode::psn_sequence_error);
}

void Responder::on_timeout(Instant now) {
  if (now >= gap_deadline_) {
    nak_gap();
  }
}

/// What was kept, as far as there is no gap. It is executed as if it came now: nothing of it has
/// been judged before.
void Responder::take_held(RegionTable& regions) {
  gap_deadline_ = kNever;
  while (!held_.empty()) {
    if (rnr_nak_sent_ || !can_receive_requests(core_.now_in())) {
      held_.clear();  // the peer sends it again, or never
      return;
    }
    const int32_t distance = held_.first().psn.since(expected_);
    if (distance > 0) {
      break;
    }
    held_.pop([&](const wire::Packet& packet) {
      if (distance == 0) {
        take(packet, regions);
      } else {
        ++core_.counters.duplicate_requests;
      }
    });
  }
  if (held_.empty() && answer_ != Answer::nak && !rnr_nak_sent_ &&
      can_receive_requests(core_.now_in())) {
    if (replies_.pending() == 0) {
      answer_ = Answer::ack;
    }
    hurry();
    urgent_ = true;
  }
}

/// What is still kept shows a further gap. When the one before it was `repaired`, packets are being
/// lost, and this one has been open for long enough.
void Responder::watch_gap(Instant now, bool repaired) {
  if (held_.empty()) {
    return;
  }
  if (repaired || held_.last().psn.since(expected_) > kReordered) {
    nak_gap();
  } else {
    gap_deadline_ = now + kReorderPatience;
  }
}

}  // namespace roce
