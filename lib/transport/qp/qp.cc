// Wiring of a queue pair's parts.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/qp.h"

#include <algorithm>
#include <array>

#include "base/prefetch.h"
#include "base/trace.h"

namespace roce {
namespace {

/// Notifications of one QP are at least this far apart, as network cards have it.
constexpr Duration kCnpInterval = Duration::from_us(50);

size_t send_bytes_after_first_sge(const QpSpec& spec) {
  const size_t sges = size_t{std::max(spec.max_send_sge, 1u)} * sizeof(Sge);
  const size_t tail = spec.type == QpType::ud ? sizeof(Path) : 0;
  return std::max<size_t>(sges, spec.max_inline) - sizeof(Sge) + tail;
}

size_t recv_bytes_after_first_sge(const QpSpec& spec) {
  return size_t{std::max(spec.max_recv_sge, 1u) - 1} * sizeof(Sge);
}

}  // namespace

Qp::Qp(uint32_t qpn, const QpSpec& spec)
    : send_queue_(std::max(spec.send_entries, 1u), send_bytes_after_first_sge(spec)),
      window_(send_queue_, spec.window_packets),
      requester_(core_, window_),
      completer_(core_, window_, spec.holding != nullptr),
      responder_(core_, receiver_, spec.holding),
      receiver_(core_, recv_queue_),
      uc_responder_(core_, receiver_),
      ud_responder_(core_, receiver_),
      recv_queue_(std::max(spec.recv_entries, 1u), recv_bytes_after_first_sge(spec)) {
  core_.qpn = qpn;
  core_.pd = spec.pd;
  core_.type = spec.type;
  core_.signal_all = spec.signal_all;
  core_.send_cq = spec.send_cq;
  core_.recv_cq = spec.recv_cq;
  core_.shared_receives = spec.shared_receives;
  if (spec.line_rate > 0) {
    core_.rate = std::make_unique<RateControl>(spec.line_rate);
  }
}

void Qp::prefetch(uint8_t work) const {
  prefetch_lines(&schedule, &core_.counters);
  if ((work & kSendWork) != 0) {
    send_queue_.prefetch();
    prefetch_lines(&window_, &responder_);
  }
  if ((work & kReceiveWork) != 0) {
    __builtin_prefetch(&core_.counters);
    prefetch_lines(&responder_, &uc_responder_);
    recv_queue_.prefetch();
  }
}

void Qp::reset() {
  schedule.failure_told = false;
  send_queue_.clear();
  receiver_.reset();
  core_.attr = {};
  core_.failure = {};
  core_.events = 0;
  core_.notify_drained = core_.fatal_told = false;
  core_.last_wqe_told = core_.cnp_due = core_.paced = false;
  next_cnp_ = {};
  if (core_.rate != nullptr) {
    core_.rate->reset();
  }
  window_.reset(Psn{});
  requester_.reset();
  completer_.reset();
  responder_.reset(Psn{});
  uc_responder_.reset(Psn{});
  core_.enter(QpState::reset);
}

void Qp::start_receiving(Psn expected) {
  if (core_.type == QpType::rc) {
    responder_.reset(expected);
  } else {
    uc_responder_.reset(expected);
  }
  core_.enter(QpState::rtr);
}

void Qp::start_sending(Psn first) {
  window_.reset(first);
  requester_.reset();
  completer_.reset();
  core_.enter(QpState::rts);
}

void Qp::enter_error() {
  schedule.failure_told = true;  // it is none
  responder_.silence();
  core_.enter(QpState::err);
}

DropReason Qp::on_packet(Instant now, const wire::Packet& packet, RegionTable& regions) {
  if (packet.info->verb == wire::Verb::response) {
    return can_receive_responses(core_.now_in()) ? completer_.on_response(now, packet, regions)
                                                 : DropReason::qp_state;
  }
  return can_receive_requests(core_.now_in()) ? on_request(now, packet, regions)
                                              : DropReason::qp_state;
}

DropReason Qp::on_request(Instant now, const wire::Packet& packet, RegionTable& regions) {
  switch (core_.type) {
    case QpType::uc:
      return uc_responder_.on_request(packet, regions);
    case QpType::ud:
      return ud_responder_.on_datagram(packet, regions);
    default:
      return responder_.on_request(now, packet, regions);
  }
}

void Qp::on_congestion(Instant now) {
  if (core_.type != QpType::ud && now >= next_cnp_) {
    core_.cnp_due = true;
    next_cnp_ = now + kCnpInterval;
  }
}

void Qp::on_cnp(Instant now) {
  ++core_.counters.cnps_rcvd;
  trace::cnp_received(core_.qpn, core_.remote_qpn);
  if (core_.rate != nullptr) {
    core_.rate->on_cnp(now);
  }
}

/// 16 bytes of zeros, PSN 0, BECN set.
void Qp::send_cnp(Step& step) {
  static constexpr std::array<uint8_t, 16> kNothing{};
  uint8_t* const ext = step.open(
      core_.path, {.opcode = wire::kCnpOpcode, .psn = Psn{}, .payload_len = kNothing.size()});
  (ext - wire::Bth::kSize)[wire::Bth::kCongestionAt] |= wire::Bth::kBecnBit;
  step.append(kNothing.data(), kNothing.size());
  step.close();
  ++core_.counters.cnps_sent;
  trace::cnp_sent(core_.qpn, core_.remote_qpn);
  core_.cnp_due = false;
}

void Qp::on_timeout(Instant now) {
  completer_.on_timeout(now);
  responder_.on_timeout(now);
}

void Qp::pull(Step& step, uint8_t work) {
  const bool sends = (work & kSendWork) != 0;
  const bool receives = (work & kReceiveWork) != 0;
  if (core_.cnp_due && !step.full()) [[unlikely]] {
    send_cnp(step);
  }
  if (receives) {
    responder_.pull_replies(step);
  }
  const size_t before = step.used();
  if (sends) {
    requester_.pull(step);
  }
  if (receives) {
    responder_.pull_ack(step, step.used() == before);
  }
  step.finish();  // before completions say that memory is no longer in use
  if (sends) {
    completer_.settle(step.now());
    if (const auto fault = requester_.local_error()) {
      completer_.fail(*fault);
    }
  }
  if (core_.notify_drained) [[unlikely]] {
    note_drained();
  }
  core_.paced = !core_.pace_allows(step.now());
}

void Qp::note_drained() {
  if (core_.now_in() == QpState::sqd && window_.drained()) {
    core_.notify_drained = false;
    core_.events |= kEventDrained;
  }
}

bool Qp::flush(uint32_t limit) {
  const QpState state = core_.now_in();
  if (state != QpState::err && state != QpState::sqe) {
    return true;
  }
  const bool sends_done = completer_.flush(limit);
  return (state == QpState::sqe || flush_receives(limit)) && sends_done;
}

bool Qp::flush_receives(uint32_t limit) {
  const bool done = receiver_.flush(limit);
  if (done && core_.shared_receives != nullptr && !core_.last_wqe_told) {
    core_.last_wqe_told = true;
    core_.events |= kEventLastWqe;
  }
  return done;
}

}  // namespace roce
