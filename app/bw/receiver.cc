// The receiving loop.
// SPDX-License-Identifier: BSD-3-Clause
#include "receiver.h"

#include <arpa/inet.h>

#include <fmt/format.h>

#include "common/run/session.h"

namespace uroce::bw {
namespace {

using roce::failure;
using roce::Status;

// Between two looks at the TCP connection the device gets so many rounds.
constexpr int kRounds = 16;
constexpr roce::Duration kSilence = roce::Duration::from_s(10);

}  // namespace

Receiver::Receiver(const Plan& plan, roce::Endpoint& endpoint, app::RcConnection& connection,
                   const app::HostMemory& memory, const roce::verbs::Mr& mr)
    : plan_(plan),
      endpoint_(endpoint),
      connection_(connection),
      memory_(memory),
      mr_(mr),
      pattern_(plan.seed),
      drives_(endpoint.config().engine.drive == roce::Drive::rtc) {}

Status Receiver::prepare() {
  bool posted = true;
  switch (plan_.operation) {
    case Operation::read:
      for (uint64_t i = 0; i <= plan_.places; ++i) {
        pattern_.fill({place_of(i, plan_.places + 1), plan_.size}, i);
      }
      break;
    case Operation::write:
      for (uint32_t i = 0; plan_.credited() && i < Plan::kNotices; ++i) {
        posted = posted && post_notice_receive();
      }
      break;
    case Operation::send:
      build_list();
      while (posted && posted_ < plan_.recv_depth) {
        posted = post_batch();
      }
      break;
  }
  return posted ? Status{} : failure(EINVAL, reason_);
}

void Receiver::build_list() {
  list_.resize(plan_.recv_depth);
  sges_.resize(plan_.recv_depth);
  for (size_t i = 0; i < list_.size(); ++i) {
    uint8_t* const at = place_of(i, plan_.places);
    sges_[i] = {reinterpret_cast<uint64_t>(at), static_cast<uint32_t>(plan_.size), mr_.lkey()};
    const bool last = (i + 1) % plan_.recv_batch == 0;
    list_[i] = {
        .wr_id = i, .next = last ? nullptr : &list_[i + 1], .sg_list = &sges_[i], .num_sge = 1};
  }
}

bool Receiver::failed(int code, std::string_view what) {
  if (code != 0) {
    reason_ = fmt::format("{}: {}", what, connection_.qp().post_error());
  }
  return code != 0;
}

bool Receiver::post_batch() {
  ibv_recv_wr* bad = nullptr;
  if (failed(connection_.qp().post_recv(&list_[posted_ % plan_.recv_depth], &bad),
             "posting receives")) {
    return false;
  }
  posted_ += plan_.recv_batch;
  return true;
}

bool Receiver::post_notice_receive() {
  ibv_recv_wr wr{};
  ibv_recv_wr* bad = nullptr;
  return !failed(connection_.qp().post_recv(&wr, &bad), "posting a receive");
}

bool Receiver::turn(app::Progress& progress) {
  if (!sees_messages()) {
    app::wait_a_little(endpoint_);
    return true;
  }
  bool fine = true;
  moved_ = true;
  // A thread that yields comes back late, and must look elsewhere before it yields again.
  for (int i = 0; i < kRounds && fine && (drives_ || moved_); ++i) {
    moved_ = false;
    if (drives_) {
      endpoint_.poll();
    }
    fine = poll_receives();
    if (!drives_ && !moved_) {
      endpoint_.poll();  // the engine's thread may need this CPU
    }
    if (moved_) {
      last_ = endpoint_.now();
      progress.update(last_, received_);
    }
  }
  return fine;
}

bool Receiver::poll_receives() {
  if (plan_.credited() && !poll_credits()) {
    return false;
  }
  const int count = connection_.recv_cq().poll(done_);
  if (count < 0) {
    reason_ = "the completion queue has overflowed";
    return false;
  }
  moved_ = count > 0;
  if (moved_ && received_ == 0) {
    first_ = endpoint_.now();
  }
  for (int i = 0; i < count; ++i) {
    const ibv_wc& wc = done_[static_cast<size_t>(i)];
    if (wc.status != IBV_WC_SUCCESS) {
      reason_ = app::failure_text(wc);
      return false;
    }
    if (!(plan_.credited() ? take_group(wc) : take_message(wc))) {
      return false;
    }
  }
  return true;
}

bool Receiver::take_message(const ibv_wc& wc) {
  if (wc.byte_len != plan_.size) {
    reason_ = fmt::format("message {} has {} bytes, not {}", received_, wc.byte_len, plan_.size);
    return false;
  }
  if (plan_.validate) {
    uint8_t* const at = place_of(wc.wr_id, plan_.places);
    findings_.note(pattern_.check({at, plan_.size}, received_));
  }
  ++received_;
  return posted_ - received_ > plan_.recv_depth - plan_.recv_batch || post_batch();
}

/// Compares the messages that a notice tells of, and lets the sender write there again.
bool Receiver::take_group(const ibv_wc& wc) {
  const uint64_t count = ntohl(wc.imm_data);
  if ((wc.wc_flags & IBV_WC_WITH_IMM) == 0 || count > plan_.group()) {
    reason_ = fmt::format("a notice of {} messages came where at most {} are in a group", count,
                          plan_.group());
    return false;
  }
  for (uint64_t i = 0; i < count; ++i, ++received_) {
    findings_.note(pattern_.check({place_of(received_, plan_.ring()), plan_.size}, received_));
  }
  ibv_send_wr credit{};
  credit.opcode = IBV_WR_SEND;
  credit.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  return post_notice_receive() &&
         !failed(connection_.qp().post_send(&credit, &bad), "posting a credit");
}

bool Receiver::poll_credits() {
  const int count = connection_.send_cq().poll(done_);
  for (int i = 0; i < count; ++i) {
    if (done_[static_cast<size_t>(i)].status != IBV_WC_SUCCESS) {
      reason_ = app::failure_text(done_[static_cast<size_t>(i)]);
      return false;
    }
  }
  return true;
}

bool Receiver::finish(uint64_t total, app::Progress& progress) {
  roce::Instant last_sign = endpoint_.now();
  uint64_t seen = received_;
  while (sees_messages() && received_ < total) {
    if (!turn(progress)) {
      return false;
    }
    const roce::Instant now = endpoint_.now();
    if (received_ != seen) {
      seen = received_;
      last_sign = now;
    } else if (now - last_sign > kSilence) {
      reason_ = fmt::format("the sender counts {} messages as arrived, but only {} came", total,
                            received_);
      return false;
    }
  }
  return true;
}

ReceiveOutcome Receiver::outcome() const {
  return {.messages = received_,
          .seconds = received_ > 0 ? static_cast<double>((last_ - first_).ns) / 1e9 : 0,
          .findings = findings_};
}

}  // namespace uroce::bw
