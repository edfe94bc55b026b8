// Wiring of a queue pair's parts.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/qp.h"

#include <algorithm>

namespace roce {
namespace {

size_t send_bytes_after_first_sge(const QpSpec& spec) {
  const size_t sges = size_t{std::max(spec.max_send_sge, 1u)} * sizeof(Sge);
  return std::max<size_t>(sges, spec.max_inline) - std::min<size_t>(sizeof(Sge), sges);
}

size_t recv_bytes_after_first_sge(const QpSpec& spec) {
  return size_t{std::max(spec.max_recv_sge, 1u) - 1} * sizeof(Sge);
}

}  // namespace

Qp::Qp(uint32_t qpn, const QpSpec& spec)
    : send_cq_(*spec.send_cq),
      recv_cq_(*spec.recv_cq),
      send_queue_(std::max(spec.send_entries, 1u), send_bytes_after_first_sge(spec)),
      recv_queue_(std::max(spec.recv_entries, 1u), recv_bytes_after_first_sge(spec)),
      window_(send_queue_),
      requester_(core_, window_, spec.window_packets),
      completer_(core_, window_, send_queue_, send_cq_),
      responder_(core_, recv_queue_, recv_cq_) {
  core_.qpn = qpn;
  core_.pd = spec.pd;
  core_.type = spec.type;
  core_.signal_all = spec.signal_all;
}

void Qp::reset() {
  send_queue_.clear();
  recv_queue_.clear();
  core_.attr = {};
  core_.events = 0;
  window_.reset(Psn{});
  requester_.reset();
  completer_.reset();
  responder_.reset(Psn{});
  core_.enter(QpState::reset);
}

void Qp::start_receiving(Psn expected) {
  responder_.reset(expected);
  core_.enter(QpState::rtr);
}

void Qp::start_sending(Psn first) {
  window_.reset(first);
  requester_.reset();
  completer_.reset();
  core_.enter(QpState::rts);
}

void Qp::enter_error() {
  responder_.silence();
  core_.enter(QpState::err);
}

DropReason Qp::on_packet(Instant now, const wire::Packet& packet, const RegionTable& regions) {
  if (packet.info->verb == wire::Verb::response) {
    return can_receive_responses(core_.now_in()) ? completer_.on_response(now, packet, regions)
                                                 : DropReason::qp_state;
  }
  return can_receive_requests(core_.now_in()) ? responder_.on_request(packet, regions)
                                              : DropReason::qp_state;
}

void Qp::on_timeout(Instant now) {
  completer_.on_timeout(now);
}

void Qp::pull(Step& step) {
  responder_.pull(step);
  requester_.pull(step);
  if (const auto fault = requester_.local_error()) {
    completer_.fail(*fault);
  }
}

bool Qp::flush(uint32_t limit) {
  const bool sends_done = completer_.flush(limit);
  const bool receives_done = responder_.flush(limit);
  return sends_done && receives_done;
}

}  // namespace roce
