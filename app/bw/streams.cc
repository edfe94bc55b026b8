// The two loops.
// SPDX-License-Identifier: BSD-3-Clause
#include "streams.h"

#include <cerrno>
#include <limits>

#include <fmt/format.h>

namespace uroce::bw {
namespace {

using roce::failure;
using roce::Status;

// Looking at the clock takes as long as half a message.
constexpr uint32_t kTurnsBetweenLooks = 64;
// Between two looks at the TCP connection the device gets so many rounds.
constexpr int kRounds = 16;
constexpr roce::Duration kNudgeAfter = roce::Duration::from_ms(5);
// Lost messages do not come any more after this; others might, on a busy machine.
constexpr roce::Duration kLastWait = roce::Duration::from_ms(300);
constexpr roce::Duration kSilence = roce::Duration::from_s(10);

/// What is posted to the receive queues of one end, in the order of the lanes; with a shared queue
/// it is the same for all.
std::vector<std::shared_ptr<app::Receives>> receives_of(const Plan& plan,
                                                        std::span<app::Lane> lanes, bool server) {
  std::vector<std::shared_ptr<app::Receives>> list;
  const bool needed = server ? plan.seen() : plan.credited();
  const uint32_t depth = needed ? plan.recv_queue(server) : 0;
  for (app::Lane& lane : lanes) {
    if (depth == 0 || (plan.srq && !list.empty())) {
      list.push_back(depth == 0 ? nullptr : list.front());
      continue;
    }
    const bool placed = server && plan.operation == app::Operation::send;
    const app::Places places =
        placed ? app::Places{lane.memory.data(), plan.size, plan.stride, plan.places, plan.head()}
               : app::Places{};
    list.push_back(std::make_shared<app::Receives>(lane, places, depth));
  }
  return list;
}

Status post_all(const std::vector<std::shared_ptr<app::Receives>>& list) {
  for (size_t i = 0; i < list.size(); ++i) {
    const bool shared = i > 0 && list[i] == list[0];
    if (list[i] != nullptr && !shared && !list[i]->post_all()) {
      return failure(EINVAL, list[i]->reason());
    }
  }
  return {};
}

double seconds(roce::Duration time) {
  return static_cast<double>(time.ns) / 1e9;
}

}  // namespace

SendStreams::SendStreams(const Plan& plan, app::Rig& rig, std::span<app::Lane> lanes,
                         app::RunWatch& watch)
    : plan_(plan),
      endpoint_(rig.session().endpoint()),
      watch_(watch),
      mover_(rig),
      credits_(receives_of(plan, lanes, false)),
      peak_(plan.duration_s == 0 && !plan.no_peak ? plan.iterations * lanes.size() : 0),
      limiter_(plan.rate, plan.burst) {
  for (size_t i = 0; i < credits_.size(); ++i) {
    senders_.push_back(std::make_unique<Sender>(plan, lanes[i], credits_[i]));
  }
}

Status SendStreams::prepare() {
  return post_all(credits_);
}

StreamOutcome SendStreams::run(app::Progress& progress, const std::function<bool()>& beside) {
  for (const auto& sender : senders_) {
    sender->aim();
  }
  const roce::Instant start = endpoint_.now();
  done_at_ = last_sign_ = start_ = start;
  limiter_.start(start);
  if (plan_.duration_s != 0) {
    deadline_ = start + roce::Duration::from_s(plan_.duration_s);
  }
  uint32_t quiet = 0;
  while (!done() && !watch_.failed()) {
    turn();
    if (beside && !beside()) {
      break;
    }
    if (moved_ || ++quiet == kTurnsBetweenLooks) {
      quiet = 0;
      look(endpoint_.now(), progress);
    }
  }
  progress.clear();
  StreamOutcome outcome{.messages = completed_,
                        .seconds = seconds(done_at_ - start),
                        .peak_seconds = 0,
                        .confidence = timeline_.confidence(),
                        .marks = timeline_.marks(),
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
  mover_.move();
  if (take() && !moved_) {
    mover_.rest();
  }
}

bool SendStreams::post() {
  const bool marks = peak_.wants_post(posted_);
  const roce::Instant start = marks ? endpoint_.now() : roce::Instant{};
  uint64_t posted = 0;
  uint64_t quota = std::numeric_limits<uint64_t>::max();
  if (limiter_.limits()) {
    quota = limiter_.allowed(endpoint_.now()) - posted_;
  }
  for (const auto& sender : senders_) {
    if (!sender->post(quota)) {
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
    done_at_ = last_sign_ = now;
    const double since = seconds(now - start_);
    if (timeline_.wants(since)) {
      timeline_.add(since, completed_);
    }
  } else if (now - last_sign_ > kNudgeAfter) {
    last_sign_ = now;
    nudge();
  }
  if (now >= deadline_ || watch_.look(now) == app::Verdict::interrupted) {
    deadline_ = roce::kNever;
    for (const auto& sender : senders_) {
      sender->stop_early();
    }
  }
  progress.update(now, completed_);
}

void SendStreams::nudge() {
  for (const auto& sender : senders_) {
    if (!sender->nudge()) {
      watch_.fail(sender->reason());
      return;
    }
  }
}

bool SendStreams::done() const {
  for (const auto& sender : senders_) {
    if (!sender->done()) {
      return false;
    }
  }
  return true;
}

ReceiveStreams::ReceiveStreams(const Plan& plan, app::Rig& rig, std::span<app::Lane> lanes)
    : plan_(plan),
      endpoint_(rig.session().endpoint()),
      mover_(rig),
      receives_(receives_of(plan, lanes, true)) {
  for (size_t i = 0; i < receives_.size(); ++i) {
    receivers_.push_back(std::make_unique<Receiver>(plan, lanes[i], receives_[i]));
  }
}

Status ReceiveStreams::prepare() {
  for (const auto& receiver : receivers_) {
    receiver->prepare();
  }
  return post_all(receives_);
}

bool ReceiveStreams::turn(app::Progress& progress) {
  if (!plan_.seen()) {
    app::wait_a_little(endpoint_);
    return true;
  }
  bool fine = true;
  moved_ = true;
  // A thread that yields comes back late, and must look elsewhere before it yields again.
  for (int i = 0; i < kRounds && fine && (mover_.drives() || moved_); ++i) {
    mover_.move();
    fine = take();
    if (fine && !moved_) {
      mover_.rest();
    }
    if (moved_) {
      last_ = endpoint_.now();
      progress.update(last_, received_);
    }
  }
  return fine;
}

bool ReceiveStreams::glance() {
  if (!plan_.seen()) {
    return true;
  }
  const bool fine = take();
  if (moved_) {
    last_ = endpoint_.now();
  }
  return fine;
}

bool ReceiveStreams::take() {
  uint64_t received = 0;
  uint64_t settled = 0;
  moved_ = false;
  for (const auto& receiver : receivers_) {
    const int count = receiver->take();
    if (count < 0) {
      reason_ = receiver->reason();
      return false;
    }
    moved_ = moved_ || count > 0;
    received += receiver->received();
    settled += receiver->settled();
  }
  if (moved_ && received_ == 0) {
    first_ = endpoint_.now();
  }
  received_ = received;
  settled_ = settled;
  return true;
}

bool ReceiveStreams::finish(uint64_t total, app::Progress& progress) {
  roce::Instant last_sign = endpoint_.now();
  uint64_t before = settled_;
  while (plan_.seen() && settled_ < total) {
    if (!turn(progress)) {
      return false;
    }
    const roce::Instant now = endpoint_.now();
    if (settled_ != before) {
      before = settled_;
      last_sign = now;
    } else if (plan_.unreliable() && now - last_sign > kLastWait) {
      last_findings_.lost = total - settled_;
      break;
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
  last_findings_.checked = total;
  if (counted != total) {
    last_findings_.wrong = 1;
    last_findings_.first = fmt::format("{} atomics were done and {} are counted", total, counted);
  }
}

StreamOutcome ReceiveStreams::outcome() const {
  StreamOutcome outcome;
  outcome.findings = last_findings_;
  outcome.messages = received_;
  outcome.seconds = received_ > 0 ? seconds(last_ - first_) : 0;
  for (const auto& receiver : receivers_) {
    outcome.findings.add(receiver->findings());
  }
  return outcome;
}

}  // namespace uroce::bw
