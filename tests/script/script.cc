// The device, its drive, and the comparison of what it did with what was expected.
// SPDX-License-Identifier: BSD-3-Clause
#include "script/script.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <gtest/gtest.h>

#include "script/words.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace roce::script {
namespace {

constexpr int kMaxTurns = 2000;  // of the engine at one moment

std::string list(const std::deque<Bytes>& frames, auto&& decode) {
  std::string out;
  for (const Bytes& frame : frames) {
    out += "    " + in_words(decode(frame)) + "\n";
  }
  return out.empty() ? "    nothing\n" : out;
}

}  // namespace

std::vector<std::pair<DropReason, std::string>>& reached_reasons() {
  static std::vector<std::pair<DropReason, std::string>> reached;
  return reached;
}

Script::Script(CaseInfo info) : info_(std::move(info)) {}
Script::~Script() = default;

void Script::step(std::string what, Where at) {
  settle();
  const std::string left = leftovers();
  if (!left.empty()) {
    fail("before step " + std::to_string(steps_ + 1) + " (" + what +
         ") there is something that nobody expects:\n" + left);
  }
  ++steps_;
  step_ = std::move(what);
  where_ = at;
}

void Script::fail(const std::string& what) {
  ADD_FAILURE_AT(where_.file, where_.line)
      << "case " << info_.name << ", first PSNs " << hex(info_.peer_psn, 6) << " (peer) and "
      << hex(info_.device_psn, 6) << " (device)\nstep " << steps_ << ", " << step_ << "\n"
      << what;
  throw CaseFailed{};
}

void Script::settle() {
  if (!device_) {
    return;
  }
  for (int turn = 0; turn < kMaxTurns; ++turn) {
    device_->poll();
    const bool at_rest = device_->next_event() > clock_.now();
    if (at_rest || (port_->refusing() && turn > 100)) {
      collect();
      return;
    }
  }
  fail("the device does not come to rest");
}

void Script::collect() {
  for (Bytes& frame : port_->take_sent()) {
    sent_.push_back(std::move(frame));
  }
  ibv_wc wc[16];
  for (const auto& [cq, to] : {std::pair{&send_cq_, &send_done_}, {&recv_cq_, &recv_done_}}) {
    for (int n = 1; cq->has_value() && !holding_ && n > 0;) {
      n = (*cq)->poll(wc);
      to->insert(to->end(), wc, wc + std::max(n, 0));
    }
  }
  while (const auto event = device_->take_async_event()) {
    events_.push_back(*event);
  }
}

Script::Drops Script::new_drops() const {
  Drops drops = device_->counters().drops;
  for (size_t i = 0; i < drops.size(); ++i) {
    drops[i] -= drops_seen_[i];
  }
  return drops;
}

std::string Script::leftovers() {
  if (!device_) {
    return {};
  }
  std::string out;
  for (const Bytes& frame : sent_) {
    out += "    packet " + in_words(decoded(frame)) + "\n";
  }
  for (const ibv_wc& wc : send_done_) {
    out += "    send completion " + in_words(wc) + "\n";
  }
  for (const ibv_wc& wc : recv_done_) {
    out += "    receive completion " + in_words(wc) + "\n";
  }
  for (const verbs::AsyncEvent& event : events_) {
    out += "    asynchronous event " + event_name(event.type) + "\n";
  }
  const Drops drops = new_drops();
  for (size_t i = 0; i < drops.size(); ++i) {
    if (drops[i] != 0) {
      out += "    dropped as " + std::string(kDropReasonNames[i]) + ": " +
             std::to_string(drops[i]) + "\n";
    }
  }
  return out;
}

void Script::finish(Where at) {
  step("the end", at);
  if (!device_) {
    return;
  }
  const EngineCounters counters = device_->counters();
  uint64_t sum = 0;
  for (const uint64_t n : counters.drops) {
    sum += n;
  }
  if (sum != counters.dropped) {
    fail("the drop reasons sum up to " + std::to_string(sum) + ", but " +
         std::to_string(counters.dropped) + " packets were dropped");
  }
  tear_down();
}

void Script::tear_down() {
  qp_.reset();
  ah_.reset();
  srq_.reset();
  mr_.reset();
  send_cq_.reset();
  recv_cq_.reset();
  pd_.reset();
  device_.reset();
  if (port_ && !port_->all_returned()) {
    fail("frames of the port were not given back");
  }
}

wire::Fields Script::decoded(const Bytes& frame) {
  wire::Packet packet;
  const wire::ParseResult parsed = wire::parse(frame, packet);
  if (parsed.kind != wire::FrameKind::roce) {
    fail("the device sent a frame that is no RoCE packet");
  }
  return wire::decode(frame, packet);
}

void Script::expect(std::initializer_list<Pkt> packets, Where at) {
  expect(std::vector<Pkt>(packets), at);
}

void Script::expect(const std::vector<Pkt>& packets, Where at) {
  settle();
  where_ = at;
  ++steps_;
  step_ = "expect " + std::to_string(packets.size()) + " packets";
  std::string wanted_list;
  for (const Pkt& p : packets) {
    wanted_list += "    " + in_words(fields_of(p, false)) + "\n";
  }
  const auto decode = [this](const Bytes& b) { return decoded(b); };
  if (packets.size() != sent_.size()) {
    fail("  expected packets:\n" + wanted_list + "  seen packets:\n" + list(sent_, decode));
  }
  for (size_t i = 0; i < packets.size(); ++i) {
    const wire::Fields wanted = fields_of(packets[i], false);
    const wire::Fields seen = decoded(sent_[i]);
    const std::string different = differences(wanted, seen);
    if (!different.empty() || wire::emit(wanted) != sent_[i]) {
      std::string what = "  packet " + std::to_string(i + 1) + ":\n";
      what.append(different).append("  expected packets:\n").append(wanted_list);
      fail(what.append("  seen packets:\n").append(list(sent_, decode)));
    }
  }
  sent_.clear();
}

void Script::expect_nothing(Where at) {
  step("expect nothing", at);
}

void Script::expect_drop(DropReason reason, uint64_t n, Where at) {
  settle();
  where_ = at;
  ++steps_;
  step_ = "expect a drop";
  const Drops drops = new_drops();
  for (size_t i = 0; i < drops.size(); ++i) {
    const uint64_t wanted = i == static_cast<size_t>(reason) ? n : 0;
    if (drops[i] != wanted) {
      fail("  packets dropped as " + std::string(kDropReasonNames[i]) + ": expected " +
           std::to_string(wanted) + ", seen " + std::to_string(drops[i]));
    }
  }
  drops_seen_ = device_->counters().drops;
  reached_reasons().emplace_back(reason, info_.name);
}

std::string Script::mismatch(const Done& wanted, const ibv_wc& seen, uint32_t qpn) {
  std::string out;
  const auto compare = [&out](const char* what, uint64_t want, uint64_t have) {
    if (want != have) {
      out += std::string("    ") + what + ": expected " + hex(want) + ", seen " + hex(have) + "\n";
    }
  };
  compare("wr_id", wanted.wr_id, seen.wr_id);
  compare("status", wanted.status, seen.status);
  compare("qp_num", wanted.qpn.value_or(qpn), seen.qp_num);
  compare("vendor_err", wanted.vendor_err.value_or(seen.vendor_err), seen.vendor_err);
  if (wanted.status == IBV_WC_SUCCESS) {
    compare("opcode", wanted.opcode.value_or(seen.opcode), seen.opcode);
    compare("byte_len", wanted.byte_len.value_or(seen.byte_len), seen.byte_len);
    compare("flag WITH_IMM", wanted.imm_value ? 1 : 0,
            (seen.wc_flags & IBV_WC_WITH_IMM) != 0 ? 1 : 0);
    compare("flag WITH_INV", wanted.invalidated ? 1 : 0,
            (seen.wc_flags & IBV_WC_WITH_INV) != 0 ? 1 : 0);
    compare("src_qp", wanted.src_qp.value_or(seen.src_qp), seen.src_qp);
    if (wanted.imm_value) {
      compare("imm_data", *wanted.imm_value, __builtin_bswap32(seen.imm_data));
    }
    if (wanted.invalidated) {
      compare("invalidated_rkey", *wanted.invalidated, seen.invalidated_rkey);
    }
  }
  return out;
}

void Script::expect_completions(std::deque<ibv_wc>& seen, const std::vector<Done>& wanted,
                                const char* queue) {
  std::string different;
  for (size_t i = 0; i < std::min(seen.size(), wanted.size()); ++i) {
    const std::string one = mismatch(wanted[i], seen[i], qpn_);
    different += one.empty() ? "" : "  completion " + std::to_string(i + 1) + ":\n" + one;
  }
  if (!different.empty() || seen.size() != wanted.size()) {
    std::string text = different + "  expected " + std::to_string(wanted.size()) + " " + queue +
                       " completions, seen " + std::to_string(seen.size()) + ":\n";
    for (const ibv_wc& wc : seen) {
      text += "    " + in_words(wc) + "\n";
    }
    fail(text);
  }
  seen.clear();
}

void Script::expect_sent(const std::vector<Done>& completions, Where at) {
  settle();
  where_ = at;
  ++steps_;
  step_ = "expect send completions";
  expect_completions(send_done_, completions, "send");
}

void Script::expect_received(const std::vector<Done>& completions, Where at) {
  settle();
  where_ = at;
  ++steps_;
  step_ = "expect receive completions";
  expect_completions(recv_done_, completions, "receive");
}

void Script::expect_event(ibv_event_type type, Where at) {
  expect_events({type}, at);
}

void Script::expect_events(const std::vector<ibv_event_type>& types, Where at) {
  settle();
  where_ = at;
  ++steps_;
  step_ = "expect asynchronous events";
  std::string wanted;
  std::string seen;
  for (const ibv_event_type type : types) {
    wanted += event_name(type) + " ";
  }
  for (const verbs::AsyncEvent& event : events_) {
    seen += event_name(event.type) + " ";
  }
  if (wanted != seen) {
    fail("  expected " + wanted + ", seen " + (seen.empty() ? "none" : seen));
  }
  events_.clear();
}

void Script::expect_state(ibv_qp_state state, Where at) {
  settle();
  where_ = at;
  ++steps_;
  step_ = "expect a state";
  if (qp_->query().qp_state != state) {
    fail("  expected state " + std::to_string(state) + ", seen " +
         std::to_string(qp_->query().qp_state));
  }
}

void Script::expect_counter(uint64_t QpCounters::*counter, uint64_t value, Where at) {
  settle();
  where_ = at;
  ++steps_;
  step_ = "expect a counter";
  const QpCounters counters = qp_->counters();
  if (counters.*counter != value) {
    fail("  expected " + std::to_string(value) + ", seen " + std::to_string(counters.*counter));
  }
}

void Script::expect_failure(uint8_t retries, PeerConduct peer, int32_t last_sent,
                            int32_t last_acknowledged, Where at) {
  settle();
  where_ = at;
  ++steps_;
  step_ = "expect what a failure says";
  const SendFailure seen = qp_->send_failure();
  const Psn first(info_.device_psn);
  if (!seen.happened || seen.retries != retries || seen.peer != peer ||
      Psn(seen.last_sent).since(first) != last_sent ||
      Psn(seen.last_acknowledged).since(first) != last_acknowledged) {
    fail("  seen " + std::to_string(seen.retries) + " retries, conduct " +
         std::to_string(static_cast<int>(seen.peer)) + ", sent " + std::to_string(seen.last_sent) +
         ", acknowledged " + std::to_string(seen.last_acknowledged));
  }
}

void Script::expect_that(bool holds, std::string_view what, Where at) {
  where_ = at;
  ++steps_;
  step_ = "expect that " + std::string(what);
  if (!holds) {
    fail("  it does not hold");
  }
}

Bytes Script::take_frame(Where at) {
  settle();
  where_ = at;
  ++steps_;
  step_ = "take a frame";
  if (sent_.size() != 1) {
    fail("  expected one packet, seen " + std::to_string(sent_.size()));
  }
  Bytes frame = std::move(sent_.front());
  sent_.clear();
  return frame;
}

std::vector<Bytes> Script::take_frames() {
  settle();
  std::vector<Bytes> frames(sent_.begin(), sent_.end());
  sent_.clear();
  return frames;
}

void Script::forget_link_frames() {
  settle();
  std::erase_if(sent_, [](const Bytes& frame) {
    wire::Packet packet;
    return wire::parse(frame, packet).kind != wire::FrameKind::roce;
  });
}

size_t Script::forget_sent() {
  settle();
  const size_t n = sent_.size();
  sent_.clear();
  return n;
}

size_t Script::sent_count() {
  settle();
  return sent_.size();
}

void Script::expect_refused(const Pkt& nak, Where at) {
  expect(nak, at);
  expect_event(nak.fields.aeth.syndrome == wire::nak_syndrome(wire::NakCode::remote_access_error)
                   ? IBV_EVENT_QP_ACCESS_ERR
                   : IBV_EVENT_QP_REQ_ERR,
               at);
  expect_state(IBV_QPS_ERR, at);
}

}  // namespace roce::script
