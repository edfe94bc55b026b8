// The sending loop.
// SPDX-License-Identifier: BSD-3-Clause
#include "sender.h"

#include <arpa/inet.h>

#include <algorithm>
#include <limits>
#include <string>

#include <fmt/format.h>

namespace uroce::bw {
namespace {

using roce::failure;
using roce::Status;

// perftest measures a peak up to so many messages; the best stretch of so many marks is looked for.
constexpr uint64_t kMostForPeak = 20000;
constexpr uint64_t kMarks = 1024;
// Looking at the clock takes as long as half a message.
constexpr uint32_t kTurnsBetweenLooks = 64;
constexpr uint64_t kNoticeId = std::numeric_limits<uint64_t>::max();

ibv_wr_opcode opcode_of(Operation operation) {
  switch (operation) {
    case Operation::write:
      return IBV_WR_RDMA_WRITE;
    case Operation::read:
      return IBV_WR_RDMA_READ;
    case Operation::send:
      break;
  }
  return IBV_WR_SEND;
}

}  // namespace

Sender::Sender(const Plan& plan, roce::Endpoint& endpoint, app::RcConnection& connection,
               const app::HostMemory& memory, const roce::verbs::Mr& mr, app::RunWatch& watch)
    : plan_(plan),
      endpoint_(endpoint),
      connection_(connection),
      memory_(memory),
      mr_(mr),
      watch_(watch),
      pattern_(plan.seed),
      drives_(endpoint.config().engine.drive == roce::Drive::rtc),
      total_(plan.iterations) {
  pattern_.fill(memory.bytes().first(plan.size), 0);
  if (plan.duration_s == 0 && plan.iterations <= kMostForPeak) {
    mark_every_ = plan.iterations / kMarks + 1;
    posts_.reserve(kMarks + 1);
    completions_.reserve(kMarks + 1);
  }
  build_list();
}

void Sender::build_list() {
  list_.resize(plan_.post_list);
  sges_.resize(plan_.post_list);
  for (size_t i = 0; i < list_.size(); ++i) {
    sges_[i] = {reinterpret_cast<uint64_t>(memory_.data()), static_cast<uint32_t>(plan_.size),
                mr_.lkey()};
    list_[i] = {};
    list_[i].sg_list = &sges_[i];
    list_[i].num_sge = 1;
    list_[i].opcode = opcode_of(plan_.operation);
  }
}

Status Sender::prepare() {
  if (plan_.credited() && !post_credit_receives(Plan::kNotices)) {
    return failure(EINVAL, watch_.reason());
  }
  return {};
}

bool Sender::failed(int code, std::string_view what) {
  if (code != 0) {
    watch_.fail(fmt::format("{}: {}", what, connection_.qp().post_error()));
  }
  return code != 0;
}

SendOutcome Sender::run(const app::QpAddress& peer, app::Progress& progress) {
  peer_ = peer;
  peer_places_ = plan_.credited() ? plan_.ring() : plan_.validate ? plan_.places + 1 : 1;
  for (ibv_send_wr& wr : list_) {
    wr.wr.rdma.remote_addr = peer.va;
    wr.wr.rdma.rkey = peer.rkey;
  }
  const roce::Instant start = endpoint_.now();
  done_at_ = start;
  if (plan_.duration_s != 0) {
    deadline_ = start + roce::Duration::from_s(plan_.duration_s);
  }
  while (completed_ < total_ && !watch_.failed()) {
    turn();
    if (moved_ || ++quiet_ == kTurnsBetweenLooks) {
      quiet_ = 0;
      look(endpoint_.now(), progress);
    }
  }
  progress.clear();
  return {.messages = completed_,
          .seconds = static_cast<double>((done_at_ - start).ns) / 1e9,
          .peak_seconds = completed_ == plan_.iterations ? peak_seconds() : 0,
          .findings = findings_};
}

/// Posts what may be posted, moves the device, takes what has completed.
void Sender::turn() {
  moved_ = false;
  post_all();
  if (drives_) {
    endpoint_.poll();
  }
  poll_completions();
  if (plan_.credited()) {
    poll_credits();
  }
  if (!drives_ && !moved_) {
    endpoint_.poll();  // the engine's thread may need this CPU
  }
}

void Sender::look(roce::Instant now, app::Progress& progress) {
  if (moved_) {
    done_at_ = now;
  }
  if (now >= deadline_ || watch_.look(now) == app::Verdict::interrupted) {
    stop_early();
  }
  progress.update(now, completed_);
}

/// Ends the run with what is posted already; one message more if its end would go unnoticed.
void Sender::stop_early() {
  deadline_ = roce::kNever;
  total_ = std::min(total_, posted_ + (unsignaled_ > 0 ? 1 : 0));
}

void Sender::post_all() {
  while (const uint64_t count = postable()) {
    if (!post(count)) {
      return;
    }
  }
  if (plan_.credited() && posted_ == total_ && noticed_ < posted_) {
    post_notice();
  }
}

/// How many messages the next list takes: as many as it holds, or none for now.
uint64_t Sender::postable() const {
  uint64_t count = std::min<uint64_t>(plan_.post_list, total_ - posted_);
  if (plan_.credited()) {
    if (posted_ / plan_.group() >= credits_ + Plan::kGroups) {
      return 0;
    }
    count = std::min(count, plan_.group() - posted_ % plan_.group());
  }
  return plan_.send_depth - (posted_ - completed_) >= count ? count : 0;
}

bool Sender::post(uint64_t count) {
  if (measures_peak() && posted_ >= posts_.size() * mark_every_) {
    posts_.push_back({posted_, endpoint_.now()});
  }
  for (uint64_t i = 0; i < count; ++i) {
    ibv_send_wr& wr = list_[i];
    const uint64_t message = posted_ + i;
    wr.wr_id = message + 1;  // so many are complete when this one is
    wr.next = i + 1 < count ? &list_[i + 1] : nullptr;
    const bool signaled = ++unsignaled_ == plan_.cq_moderation || message + 1 == total_;
    wr.send_flags = signaled ? IBV_SEND_SIGNALED : 0;
    unsignaled_ = signaled ? 0 : unsignaled_;
    if (plan_.validate) {
      place(wr, sges_[i], message);
    }
  }
  ibv_send_wr* bad = nullptr;
  if (failed(connection_.qp().post_send(list_.data(), &bad), "posting messages")) {
    return false;
  }
  posted_ += count;
  return !plan_.credited() || posted_ % plan_.group() != 0 || post_notice();
}

/// Gives a message its places at both ends, and its contents.
void Sender::place(ibv_send_wr& wr, ibv_sge& sge, uint64_t message) {
  uint8_t* const at = place_of(message);
  sge.addr = reinterpret_cast<uint64_t>(at);
  wr.wr.rdma.remote_addr = peer_.va + message % peer_places_ * plan_.stride;
  if (plan_.operation != Operation::read) {
    pattern_.fill({at, plan_.size}, message);
  }
}

/// Tells the receiver that the messages since the last notice are all there.
bool Sender::post_notice() {
  ibv_send_wr wr{};
  wr.wr_id = kNoticeId;
  wr.opcode = IBV_WR_SEND_WITH_IMM;
  wr.imm_data = htonl(static_cast<uint32_t>(posted_ - noticed_));
  ibv_send_wr* bad = nullptr;
  if (failed(connection_.qp().post_send(&wr, &bad), "posting a notice")) {
    return false;
  }
  noticed_ = posted_;
  return true;
}

void Sender::poll_completions() {
  const int count = connection_.send_cq().poll(done_);
  if (count < 0) {
    watch_.fail("the completion queue has overflowed");
  }
  for (int i = 0; i < count; ++i) {
    const ibv_wc& wc = done_[static_cast<size_t>(i)];
    if (wc.status != IBV_WC_SUCCESS) {
      watch_.fail(app::failure_text(wc));
      return;
    }
    if (wc.wr_id != kNoticeId) {
      complete_up_to(wc.wr_id);
    }
  }
}

void Sender::complete_up_to(uint64_t count) {
  if (plan_.validate && plan_.operation == Operation::read) {
    for (uint64_t message = completed_; message < count; ++message) {
      auto wrong = pattern_.check({place_of(message), plan_.size}, message % peer_places_);
      if (wrong) {
        wrong->message = message;
      }
      findings_.note(wrong);
    }
  }
  completed_ = count;
  moved_ = true;
  if (measures_peak() && completed_ >= completions_.size() * mark_every_) {
    completions_.push_back({completed_, endpoint_.now()});
  }
}

void Sender::poll_credits() {
  const int count = connection_.recv_cq().poll(done_);
  for (int i = 0; i < count; ++i) {
    const ibv_wc& wc = done_[static_cast<size_t>(i)];
    if (wc.status != IBV_WC_SUCCESS) {
      watch_.fail(app::failure_text(wc));
      return;
    }
  }
  if (count > 0) {
    credits_ += static_cast<uint64_t>(count);
    post_credit_receives(static_cast<uint32_t>(count));
  }
}

bool Sender::post_credit_receives(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    ibv_recv_wr wr{};
    ibv_recv_wr* bad = nullptr;
    if (failed(connection_.qp().post_recv(&wr, &bad), "posting a receive")) {
      return false;
    }
  }
  return true;
}

/// The best rate between any post and any completion behind it.
double Sender::peak_seconds() const {
  double best = std::numeric_limits<double>::infinity();
  for (const Mark& post : posts_) {
    for (const Mark& completion : completions_) {
      if (completion.message > post.message) {
        const auto time = static_cast<double>((completion.time - post.time).ns);
        best = std::min(best, time / static_cast<double>(completion.message - post.message));
      }
    }
  }
  return posts_.empty() || completions_.empty() ? 0 : best / 1e9;
}

}  // namespace uroce::bw
