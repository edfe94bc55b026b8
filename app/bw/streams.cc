// The two loops.
// SPDX-License-Identifier: BSD-3-Clause
#include "streams.h"

#include <cerrno>

#include <fmt/format.h>

namespace uroce::bw {
namespace {

using roce::failure;
using roce::Status;

// Looking at the clock takes as long as half a message.
constexpr uint32_t kTurnsBetweenLooks = 64;
// Between two looks at the TCP connection the device gets so many rounds.
constexpr int kRounds = 16;
constexpr roce::Duration kSilence = roce::Duration::from_s(10);

bool drives(roce::Endpoint& endpoint) {
  return endpoint.config().engine.drive != roce::Drive::lcore;
}

double seconds(roce::Duration time) {
  return static_cast<double>(time.ns) / 1e9;
}

}  // namespace

SendStreams::SendStreams(const Plan& plan, app::Rig& rig, app::RunWatch& watch)
    : plan_(plan),
      endpoint_(rig.session().endpoint()),
      watch_(watch),
      drives_(drives(endpoint_)),
      peak_(plan.duration_s == 0 ? plan.iterations * rig.lanes().size() : 0) {
  for (app::Lane& lane : rig.lanes()) {
    senders_.push_back(std::make_unique<Sender>(plan, lane));
  }
}

Status SendStreams::prepare() {
  for (const auto& sender : senders_) {
    if (!sender->prepare()) {
      return failure(EINVAL, sender->reason());
    }
  }
  return {};
}

StreamOutcome SendStreams::run(app::Progress& progress) {
  for (const auto& sender : senders_) {
    sender->aim();
  }
  const roce::Instant start = endpoint_.now();
  done_at_ = start;
  if (plan_.duration_s != 0) {
    deadline_ = start + roce::Duration::from_s(plan_.duration_s);
  }
  uint32_t quiet = 0;
  while (!done() && !watch_.failed()) {
    turn();
    if (moved_ || ++quiet == kTurnsBetweenLooks) {
      quiet = 0;
      look(endpoint_.now(), progress);
    }
  }
  progress.clear();
  StreamOutcome outcome{.messages = completed_,
                        .seconds = seconds(done_at_ - start),
                        .peak_seconds = 0,
                        .findings = {}};
  outcome.peak_seconds = peak_.seconds(completed_);
  for (const auto& sender : senders_) {
    outcome.findings.add(sender->findings());
  }
  return outcome;
}

/// Posts what may be posted, moves the device, takes what has completed.
void SendStreams::turn() {
  if (!post()) {
    return;
  }
  if (drives_) {
    endpoint_.poll();
  }
  if (!take()) {
    return;
  }
  if (!drives_ && !moved_) {
    endpoint_.poll();  // the engine's thread may need this CPU
  }
}

bool SendStreams::post() {
  const bool marks = peak_.wants_post(posted_);
  const roce::Instant start = marks ? endpoint_.now() : roce::Instant{};
  uint64_t posted = 0;
  for (const auto& sender : senders_) {
    if (!sender->post()) {
      watch_.fail(sender->reason());
      return false;
    }
    posted += sender->posted();
  }
  if (marks && posted != posted_) {
    peak_.post(posted_, start);
  }
  posted_ = posted;
  return true;
}

bool SendStreams::take() {
  uint64_t completed = 0;
  for (const auto& sender : senders_) {
    if (!sender->take()) {
      watch_.fail(sender->reason());
      return false;
    }
    completed += sender->completed();
  }
  moved_ = completed != completed_;
  completed_ = completed;
  if (moved_ && peak_.wants_completion(completed)) {
    peak_.completion(completed, endpoint_.now());
  }
  return true;
}

void SendStreams::look(roce::Instant now, app::Progress& progress) {
  if (moved_) {
    done_at_ = now;
  }
  if (now >= deadline_ || watch_.look(now) == app::Verdict::interrupted) {
    deadline_ = roce::kNever;
    for (const auto& sender : senders_) {
      sender->stop_early();
    }
  }
  progress.update(now, completed_);
}

bool SendStreams::done() const {
  for (const auto& sender : senders_) {
    if (!sender->done()) {
      return false;
    }
  }
  return true;
}

ReceiveStreams::ReceiveStreams(const Plan& plan, app::Rig& rig)
    : plan_(plan), endpoint_(rig.session().endpoint()), drives_(drives(endpoint_)) {
  for (app::Lane& lane : rig.lanes()) {
    receivers_.push_back(std::make_unique<Receiver>(plan, lane));
  }
}

Status ReceiveStreams::prepare() {
  for (const auto& receiver : receivers_) {
    if (!receiver->prepare()) {
      return failure(EINVAL, receiver->reason());
    }
  }
  return {};
}

bool ReceiveStreams::turn(app::Progress& progress) {
  if (!sees_messages(plan_)) {
    app::wait_a_little(endpoint_);
    return true;
  }
  bool fine = true;
  moved_ = true;
  // A thread that yields comes back late, and must look elsewhere before it yields again.
  for (int i = 0; i < kRounds && fine && (drives_ || moved_); ++i) {
    if (drives_) {
      endpoint_.poll();
    }
    fine = take();
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

bool ReceiveStreams::take() {
  uint64_t received = 0;
  moved_ = false;
  for (const auto& receiver : receivers_) {
    const int count = receiver->take();
    if (count < 0) {
      reason_ = receiver->reason();
      return false;
    }
    moved_ = moved_ || count > 0;
    received += receiver->received();
  }
  if (moved_ && received_ == 0) {
    first_ = endpoint_.now();
  }
  received_ = received;
  return true;
}

bool ReceiveStreams::finish(uint64_t total, app::Progress& progress) {
  roce::Instant last_sign = endpoint_.now();
  uint64_t seen = received_;
  while (sees_messages(plan_) && received_ < total) {
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
  if (plan_.validate && is_atomic(plan_.operation)) {
    count_atomics(total);
  }
  return true;
}

void ReceiveStreams::count_atomics(uint64_t total) {
  uint64_t counted = 0;
  for (const auto& receiver : receivers_) {
    counted += receiver->counted();
  }
  counts_.checked = total;
  if (counted != total) {
    counts_.wrong = 1;
    counts_.first = fmt::format("{} atomics were done and {} are counted", total, counted);
  }
}

StreamOutcome ReceiveStreams::outcome() const {
  StreamOutcome outcome;
  outcome.findings = counts_;
  outcome.messages = received_;
  outcome.seconds = received_ > 0 ? seconds(last_ - first_) : 0;
  for (const auto& receiver : receivers_) {
    outcome.findings.add(receiver->findings());
  }
  return outcome;
}

}  // namespace uroce::bw
