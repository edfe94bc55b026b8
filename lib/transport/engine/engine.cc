// The loop. Its order is fixed and stands in poll().
// SPDX-License-Identifier: BSD-3-Clause
#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/add_counts.h"
#include "base/trace.h"
#include "wire/ethernet.h"
#include "wire/peek.h"

namespace roce {
namespace {

/// Packets that one QP may build before the next one's turn comes.
constexpr size_t kQuantum = 16;
/// WQEs of each queue that a QP in error may flush in one turn.
constexpr uint32_t kFlushQuantum = 64;
/// Timers served in one poll; the rest is served in the next.
constexpr size_t kTimerQuantum = 256;
/// Places in the list of active QPs between the one that is fetched and the one that is served.
constexpr uint32_t kQpsAhead = 3;

}  // namespace

Engine::Engine(Port& port, const EngineConfig& config, const RandomSource& random, Instant now)
    : port_(port),
      addresses_(config.addresses),
      neighbours_(addresses_, config.neighbours),
      link_(addresses_, neighbours_),
      regions_(config.tables.max_mr, random),
      holding_(config.held_packets),
      qps_(config.tables.max_qp, config.place, random),
      wheel_(config.tables.max_qp, now),
      now_(now),
      place_(config.place),
      port_loops_back_(config.port_loops_back),
      selective_(config.held_packets > 0) {
  if (config.place.index == 0) {
    link_.announce();
  }
}

Engine::~Engine() {
  port_.release({tx_.data(), blank_});
  port_.release(holding_.returned());
  holding_.for_each_frame([this](Frame& frame) { port_.release({&frame, 1}); });
  for (; local_head_ != local_tail_; ++local_head_) {
    port_.release({&local_[local_head_ % kLocalFrames], 1});
  }
}

Status Engine::set_up_neighbours(const EngineConfig& config) {
  for (const auto& [gid, mac] : config.static_neighbours) {
    if (Status s = neighbours_.add_static(gid, mac); !s) {
      return s;
    }
  }
  for (const Gid& gateway : config.gateways) {
    if (Status s = neighbours_.set_gateway(gateway); !s) {
      return s;
    }
  }
  return {};
}

bool Engine::poll(Instant now) {
  now_ = now;
  moved_ = false;
  take_doorbells();
  if (posted_) {
    // Before the port is asked for frames, which takes its time even when there are none.
    posted_ = false;
    settle();
    flush();
  }
  receive();
  receive_local();
  release_held();
  expire();
  settle();
  flush();
  return moved_;
}

Instant Engine::next_event(Instant now) const {
  if (!active_.empty() || ready_ > 0 || local_head_ != local_tail_ || link_.wants_tx() ||
      farewells_.wants_tx()) {
    return now;
  }
  return std::min({wheel_.next_expiry(), link_.deadline(), port_.next_event()});
}

void Engine::expire() {
  wheel_.advance(
      now_,
      [this](uint32_t id) {
        Qp& qp = *qps_.by_id(id);
        qp.schedule.timer = kNever;
        if (qp.deadline() > now_) {
          schedule_timer(qp);  // armed for what has come to its end since
          return;
        }
        qp.on_timeout(now_);
        report(qp);
        active_.add(qp, kAnyWork);
      },
      kTimerQuantum);
  if (link_.deadline() <= now_) {
    link_.on_timeout(now_);
  }
}

void Engine::take_doorbells() {
  doorbells_.take([this](Qp& qp) {
    active_.add(qp, kSendWork);
    posted_ = true;
  });
}

void Engine::settle() {
  answer_waits_ = false;
  if (active_.empty() && !link_.wants_tx() && !farewells_.wants_tx()) {
    return;
  }
  // Back-pressure: while the port has yet to take what is built, nothing more is built. Timers,
  // errors and completions go on all the same, or a dead port would keep its queue pairs from
  // giving up.
  const bool may_build = ready_ == 0;
  if (may_build) {
    fill_blanks();
    pull_link_frames();
  }
  Step step(now_, regions_, {tx_.data() + ready_, may_build ? blank_ - ready_ : 0});
  if (farewells_.wants_tx()) [[unlikely]] {
    step.allow(kTxBurst);
    farewells_.pull(step);
  }
  while (!active_.empty()) {
    if (const ActiveList::Entry* const soon = active_.peek(kQpsAhead)) {
      soon->qp->prefetch(soon->work);
    }
    if (const ActiveList::Entry* const next = active_.peek(1)) {
      next->qp->prefetch_wqes(next->work);
    }
    Qp& qp = active_.pop();
    const size_t before = step.used();
    if (const uint8_t left = serve(qp, step); left != 0) {
      // Round again only for frames: whoever waits for something else waits for the next poll.
      (step.used() > before && !step.turn_ended() ? active_ : later_).add(qp, left);
    }
    if (step.exhausted() && step.used() > 0) {
      break;
    }
  }
  while (!later_.empty()) {
    active_.add(later_.pop(), 0);
  }
  take_built(step);
}

void Engine::take_built(const Step& step) {
  counters_.sent_packets += step.used();
  ready_ += step.used();
}

/// Lets the QP build packets and reports what has become of it. Returns what it wants another turn
/// for.
uint8_t Engine::serve(Qp& qp, Step& step) {
  const uint8_t work = std::exchange(qp.schedule.work, uint8_t{0});
  const bool local = loops_back(qp);
  const size_t first = step.used();
  step.allow(local ? std::min(kQuantum, local_room()) : kQuantum);
  qp.pull(step, work);
  uint8_t left = step.full() ? work : 0;
  if ((work & kReceiveWork) != 0 && qp.wants_turn()) {
    left |= kReceiveWork;
  }
  if (local) {
    loop_back(step, first, qp);
  }
  if (!qp.flush(kFlushQuantum)) {
    left |= kSendWork;
  }
  report(qp);
  schedule_timer(qp, work);
  return left;
}

/// Shows the application what has become of the QP: completions and events together, so that none
/// of them is seen without the other.
void Engine::report(Qp& qp) {
  qp.send_cq().publish(now_);
  qp.recv_cq().publish(now_);
  collect_events(qp);
}

void Engine::collect_events(Qp& qp) {
  if (qp.core().now_in() == QpState::err && !qp.schedule.failure_told) [[unlikely]] {
    qp.schedule.failure_told = true;
    port_.note_failure(qp.qpn());
  }
  if (qp.core().events != 0) [[unlikely]] {
    events_.push_back({EngineEvent::Source::qp, qp.qpn(), qp.core().events});
    qp.core().events = 0;
  }
  SharedReceiveQueue* const shared = qp.shared_receives();
  if (shared != nullptr && shared->take_limit_event()) [[unlikely]] {
    events_.push_back({EngineEvent::Source::shared_receives, shared->id(), 0});
  }
}

/// Moves the packets built since `first` that are for this node into the queue of those, and lets
/// members of groups see what is sent to them.
void Engine::loop_back(Step& step, size_t first, const Qp& sender) {
  const size_t n = step.withdraw_local(
      first,
      [this](const Frame& frame) {
        if (goes_to_another_engine(frame)) {
          return false;
        }
        local_[local_tail_++ % kLocalFrames] = frame;
        return true;
      },
      [&](const Frame& frame) { deliver_copy(frame, sender); });
  blank_ -= n;
  counters_.sent_packets += n;
  counters_.looped_packets += n;
}

/// To a QP of this node that another engine has: the port takes it there.
bool Engine::goes_to_another_engine(const Frame& frame) const {
  return place_.count > 1 && !place_.owns(wire::peek_dest_qp({frame.data, frame.len}).value_or(0));
}

/// Lazy: an armed timer that is early stays; it looks again when it fires.
void Engine::schedule_timer(Qp& qp, uint8_t work) {
  const Instant deadline = qp.deadline(work);
  if (deadline < qp.schedule.timer) {
    qp.schedule.timer = deadline;
    wheel_.arm(qp.schedule.id, deadline);
  }
}

void Engine::fill_blanks() {
  if (blank_ < kTxBurst) {
    blank_ += port_.alloc({tx_.data() + blank_, kTxBurst - blank_});
  }
}

void Engine::pull_link_frames() {
  while (ready_ < blank_ && link_.wants_tx()) {
    const size_t capacity = wire::EthernetHeader::kSize + wire::VlanTag::kSize + port_.info().mtu;
    const size_t len = link_.pull(now_, tx_[ready_].data, capacity);
    if (len == 0) {
      return;
    }
    tx_[ready_++].len = static_cast<uint32_t>(len);
  }
}

void Engine::flush() {
  if (ready_ == 0) {
    return;
  }
  size_t sent = port_.tx_burst(now_, {tx_.data(), ready_});
  trace::tx_burst(ready_, sent);
  moved_ = moved_ || sent > 0;
  if (sent < ready_ && !link_up_) {
    port_.release({tx_.data() + sent, ready_ - sent});
    sent = ready_;
  }
  std::copy(tx_.begin() + static_cast<ptrdiff_t>(sent),
            tx_.begin() + static_cast<ptrdiff_t>(blank_), tx_.begin());
  ready_ -= sent;
  blank_ -= sent;
  if (ready_ == 0) {
    // Now, when nobody waits for it, not when the next packet is built.
    fill_blanks();
    Step::own_frame(tx_[0]);
  }
}

/// In a step of its own: in settle(), others could use up all frames before its turn.
void Engine::answer_now(Qp& qp) {
  if (!qp.wants_turn()) {
    report(qp);
    return;
  }
  flush();
  fill_blanks();
  qp.hurry();
  Step step(now_, regions_, {tx_.data() + ready_, ready_ == 0 ? blank_ : 0});
  qp.schedule.work |= kAnyWork;
  if (const uint8_t left = serve(qp, step); left != 0) {
    active_.add(qp, left);
  }
  take_built(step);
  flush();
}

Result<Qp*> Engine::create_qp(QpSpec spec) {
  spec.holding = selective_ ? &holding_ : nullptr;
  Result<Qp*> qp = qps_.create(spec, now_);
  active_.reserve(qps_.size());
  later_.reserve(qps_.size());
  return qp;
}

void Engine::destroy_qp(Qp& qp) {
  answer_now(qp);
  take_doorbells();
  active_.remove(qp);
  wheel_.disarm(qp.schedule.id);
  add_counts(destroyed_, qp.core().counters);
  if (!loops_back(qp)) {
    farewells_.add(qp, now_);
  }
  qps_.destroy(qp, now_);
  release_held();
}

Instant Engine::peers_may_ask_until() const {
  Instant latest = farewells_.until();
  qps_.for_each([&](const Qp& qp) {
    if (!loops_back(qp)) {
      latest = std::max(latest, now_ + Farewells::patience(qp));
    }
  });
  return latest;
}

Status Engine::join_group(Qp& qp, const Gid& group) {
  const Result<bool> first = groups_.attach(group, qp);
  if (!first) {
    return tl::make_unexpected(first.error());
  }
  if (*first) {
    link_.groups().join(now_, group);
  }
  return {};
}

void Engine::leave_group(const Qp& qp, const Gid& group) {
  const Result<bool> last = groups_.detach(group, qp);
  if (!last || !*last) {
    return;
  }
  // Of the node's other engines nothing is known: a switch must not take the port out of the group.
  if (place_.count > 1) {
    link_.groups().fall_silent(group);
  } else {
    link_.groups().leave(group);
  }
}

QpCounters Engine::qp_counters() const {
  QpCounters sum = destroyed_;
  qps_.for_each([&sum](const Qp& qp) { add_counts(sum, qp.core().counters); });
  return sum;
}

std::optional<EngineEvent> Engine::take_event() {
  if (events_.empty()) {
    return std::nullopt;
  }
  const EngineEvent event = events_.front();
  events_.pop_front();
  return event;
}

}  // namespace roce
