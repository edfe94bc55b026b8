// The way in: each received frame is checked and handed to the QPs that it is for, or dropped with
// a counted reason (spec/error-behaviour.md 1.1).
// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include "base/trace.h"
#include "engine/engine.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace roce {
namespace {

/// How many frames before its turn a frame's first line is asked for.
constexpr size_t kFramesAhead = 4;

}  // namespace

void Engine::receive() {
  const std::span<Frame> frames(rx_);
  const size_t n = port_.rx_burst(now_, frames);
  if (n == 0) {
    return;
  }
  trace::rx_burst(n, kRxBurst);
  fetcher_.start(frames.first(n));
  size_t done = 0;
  for (size_t i = 0; i < n; ++i) {
    if (i + kFramesAhead < n) {
      __builtin_prefetch(frames[i + kFramesAhead].data);
    }
    fetcher_.advance(frames.first(n), i);
    const bool kept = take(frames[i]);
    if (answer_waits_) [[unlikely]] {
      settle();
      flush();
    }
    if (kept) [[unlikely]] {
      continue;
    }
    if (done != i) [[unlikely]] {
      frames[done] = frames[i];
    }
    ++done;
  }
  port_.release(frames.first(done));
}

/// The frame that is being handled goes no further.
void Engine::drop(DropReason reason, uint32_t qpn) {
  counters_.drop(reason);
  trace::drop(static_cast<uint32_t>(reason), qpn, handled_->len);
  port_.note_drop(*handled_, reason);
}

/// Handles the frame; true when it is kept and must not be released yet.
bool Engine::take(const Frame& frame) {
  holding_.offer(frame);
  handle(frame);
  return holding_.end_offer();
}

/// What QPs have kept until now.
void Engine::release_held() {
  if (holding_.has_returns()) [[unlikely]] {
    port_.release(holding_.returned());
    holding_.clear_returned();
    for (size_t lost = holding_.take_lost(); lost > 0; --lost) {
      counters_.drop(DropReason::out_of_sequence);  // their frames have gone already
      trace::drop(static_cast<uint32_t>(DropReason::out_of_sequence), 0, 0);
    }
  }
}

void Engine::receive_local() {
  for (const size_t tail = local_tail_; local_head_ != tail; ++local_head_) {
    Frame& frame = local_[local_head_ % kLocalFrames];
    if (!take(frame)) {
      port_.release({&frame, 1});
    }
  }
}

bool Engine::for_this_node(const Frame& frame) const {
  return (frame.data[0] & 1) != 0 ||
         std::memcmp(frame.data, addresses_.mac.bytes.data(), addresses_.mac.bytes.size()) == 0;
}

void Engine::handle(const Frame& frame) {
  moved_ = true;
  handled_ = &frame;
  const std::span<const uint8_t> bytes(frame.data, frame.len);
  wire::Packet packet;
  const wire::ParseResult parsed = wire::parse(bytes, packet);
  switch (parsed.kind) {
    case wire::FrameKind::roce:
      break;
    case wire::FrameKind::other:
      ++counters_.rcvd_other;
      link_.on_frame(now_, bytes);
      return;
    case wire::FrameKind::bad:
      drop(parsed.reason);
      return;
  }
  if (!for_this_node(frame)) {
    drop(DropReason::not_for_us_mac);
    return;
  }
  // Before any state is read that a reply could depend on.
  if (!wire::icrc_ok(packet.l3, packet.l3_len)) {
    drop(DropReason::icrc);
    return;
  }
  deliver(packet);
}

void Engine::deliver(const wire::Packet& packet) {
  counters_.rcvd_ce += packet.congestion_experienced() ? 1 : 0;
  if (packet.info->verb == wire::Verb::congestion) {
    take_cnp(packet);
    return;
  }
  if (packet.dest_qp == kMulticastQpn) {
    deliver_to_group(packet, nullptr);
    return;
  }
  Qp* const qp = qps_.find(packet.dest_qp);
  if (qp == nullptr) {
    if (farewells_.take(now_, packet)) {
      ++counters_.rcvd_packets;
    } else {
      drop(DropReason::unknown_qpn, packet.dest_qp);
    }
    return;
  }
  hand_over(*qp, packet);
}

/// Counted in any case; believed only when it comes from the QP's peer.
void Engine::take_cnp(const wire::Packet& packet) {
  ++counters_.rcvd_cnp;
  Qp* const qp = qps_.find(packet.dest_qp);
  if (qp != nullptr && can_receive_requests(qp->core().now_in()) &&
      qp->core().path.matches(packet)) {
    qp->on_cnp(now_);
  }
}

/// A copy for each member; how many it reaches does not matter to the count of received packets.
void Engine::deliver_to_group(const wire::Packet& packet, const Qp* except) {
  const std::vector<Qp*>* const members = groups_.members(packet.destination_gid());
  if (members == nullptr) {
    // With several engines every one gets a copy, and whether another has a member is not known.
    if (place_.count == 1) {
      drop(DropReason::unknown_group);
    }
    return;
  }
  for (Qp* const qp : *members) {
    if (qp != except) {
      hand_over(*qp, packet);
    }
  }
}

/// What this node sends to a group it belongs to reaches its members here as well, except the
/// sender.
void Engine::deliver_copy(const Frame& frame, const Qp& sender) {
  wire::Packet packet;
  handled_ = &frame;
  if (wire::parse({frame.data, frame.len}, packet).kind == wire::FrameKind::roce &&
      groups_.members(packet.destination_gid()) != nullptr) {
    deliver_to_group(packet, &sender);
  }
}

DropReason Engine::judge(const Qp& qp, const wire::Packet& packet) const {
  if (packet.transport() != qp.type()) {
    return DropReason::qp_type;
  }
  if (!can_receive_requests(qp.core().now_in())) {
    return DropReason::qp_state;
  }
  if (qp.type() == QpType::ud) {
    if (packet.dest_qp != kMulticastQpn && !addresses_.owns(packet.destination_gid())) {
      return DropReason::wrong_destination;
    }
  } else if (!qp.core().path.matches(packet)) {
    const bool to_us = addresses_.owns(packet.destination_gid());
    return to_us ? DropReason::wrong_source : DropReason::wrong_destination;
  }
  return wire::pkeys_match(packet.pkey, qp.core().pkey) ? DropReason::none : DropReason::pkey;
}

void Engine::hand_over(Qp& qp, const wire::Packet& packet) {
  if (const DropReason reason = judge(qp, packet); reason != DropReason::none) {
    drop(reason, qp.qpn());
    return;
  }
  ++counters_.rcvd_packets;
  if (packet.congestion_experienced()) [[unlikely]] {
    qp.on_congestion(now_);
  }
  const DropReason reason = qp.on_packet(now_, packet, regions_);
  if (reason != DropReason::none) {
    drop(reason, qp.qpn());
  }
  if (qp.core().events != 0) [[unlikely]] {
    report(qp);  // its turn may come after the poll in which the application sees the cause
  }
  active_.add(qp, work_of(*packet.info));
  answer_waits_ = answer_waits_ || qp.answers_at_once();
}

}  // namespace roce
