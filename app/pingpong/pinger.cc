// The loops of the operations.
// SPDX-License-Identifier: BSD-3-Clause
#include "pinger.h"

#include <arpa/inet.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "common/counted_word.h"

namespace uroce::pingpong {
namespace {

using roce::failure;
using roce::Status;

// What ibverbs-utils fill their buffers with: this, and one more at the server.
constexpr uint8_t kStockByte = 0x7b;
constexpr size_t kPage = 4096;
// An engine on another core answers within this many looks, or is asked for the CPU.
constexpr uint32_t kSpins = 64;
// Over a lossy transport the other end has lost a message when it is silent for so long.
constexpr roce::Duration kRepeatAfter = roce::Duration::from_ms(10);
// Memory that is polled may show its last byte before the ones in front of it.
constexpr roce::Duration kSettleLimit = roce::Duration::from_ms(500);

}  // namespace

Pinger::Pinger(const Plan& plan, app::Rig& rig, app::RunWatch& watch)
    : plan_(plan),
      endpoint_(rig.session().endpoint()),
      watch_(watch),
      pattern_(plan.seed),
      mover_(rig) {
  const auto lanes = rig.lanes();
  for (size_t i = 0; i < lanes.size(); ++i) {
    lines_.push_back(
        std::make_unique<Line>(plan, lanes[i], Plan::share_of(i, lanes.size(), plan.iterations)));
    Line& line = *lines_.back();
    fill(line);
    const bool shared = line.lane.srq != nullptr && i > 0;
    if (takes_receive(plan.operation)) {
      line.receives =
          shared ? lines_.front()->receives
                 : std::make_shared<app::Receives>(
                       line.lane, app::Places{line.place, plan.size, plan.stride(), 1, plan.head()},
                       plan.recv_depth);
    }
  }
}

/// Gives a lane's memory its first contents.
void Pinger::fill(const Line& line) const {
  const std::span<uint8_t> memory = line.lane.memory;
  if (is_atomic(plan_.operation)) {
    app::set_word(memory.data(), plan_.server ? app::word_before(0) : 0);
    return;
  }
  if (plan_.one_sided()) {
    for (uint64_t i = 0; i < Plan::kReceivePlaces; ++i) {
      pattern_.fill(memory.subspan(i * plan_.stride(), plan_.size), i);
    }
    return;
  }
  for (uint64_t i = 0; i < plan_.send_places(); ++i) {
    uint8_t* const at = line.poster.place_of(i);
    std::memset(at, plan_.server ? kStockByte + 1 : kStockByte, plan_.size);
    for (size_t page = 0; plan_.stock && plan_.validate && page < plan_.size; page += kPage) {
      at[page] = 0;  // what their -c looks for
    }
  }
}

Status Pinger::prepare() {
  for (const auto& line : lines_) {
    const bool first = line->lane.srq == nullptr || line == lines_.front();
    if (line->receives && first && !line->receives->post_all()) {
      return failure(EINVAL, line->receives->reason());
    }
  }
  return {};
}

Outcome Pinger::run(app::Progress& progress) {
  for (const auto& line : lines_) {
    line->poster.aim();
  }
  const roce::Instant start = endpoint_.now();
  last_ = start_ = start;
  bool fine = true;
  while (fine && outcome_.iterations < plan_.iterations && watch_.running()) {
    const uint64_t number = outcome_.iterations;
    fine = plan_.one_sided() ? fetch(number, progress) : bounce(number, progress);
    outcome_.iterations += fine ? 1 : 0;
  }
  outcome_.seconds = static_cast<double>((endpoint_.now() - start).ns) / 1e9;
  return std::move(outcome_);
}

/// Open loop: a message is due at its time whether the one before has been answered or not. One
/// that starts late counts from when it was due, so that a stall shows in all that it delayed.
bool Pinger::wait_until_due(uint64_t number) {
  if (plan_.rate == 0 || plan_.server) {
    return true;
  }
  const double ns = static_cast<double>(number) * 1e9 / plan_.rate;
  const roce::Instant due = start_ + roce::Duration::from_ns(static_cast<int64_t>(ns));
  uint32_t idle = 0;
  while (endpoint_.now() < due) {
    if (!step(idle)) {
      return false;
    }
  }
  last_ = due;
  return true;
}

bool Pinger::bounce(uint64_t number, app::Progress& progress) {
  if (!wait_until_due(number)) {
    return false;
  }
  if (!plan_.server && !send(line_of(number))) {
    return false;
  }
  Line* const line = await(number);
  if (line == nullptr) {
    return false;
  }
  // At the server the first message comes when the client starts, not after a round trip.
  if (!plan_.server || number > 0) {
    note_round_trip(number, progress);
  } else {
    last_ = endpoint_.now();
  }
  return accept(*line) && (!plan_.server || send(*line));
}

bool Pinger::fetch(uint64_t number, app::Progress& progress) {
  Line& line = line_of(number);
  if (!wait_until_due(number) || !send(line) || !drain(line)) {
    return false;
  }
  note_round_trip(number, progress);
  return accept(line);
}

void Pinger::note_round_trip(uint64_t number, app::Progress& progress) {
  const roce::Instant now = endpoint_.now();
  outcome_.times.record(static_cast<uint64_t>((now - last_).ns));
  last_ = now;
  watch_.alive(now);
  if (number % 64 == 0) {
    watch_.look(now);
    progress.update(now, number);
  }
}

/// Posts the line's next message, once there is a place for it.
bool Pinger::send(Line& line) {
  uint32_t idle = 0;
  while (line.poster.under_way() >= plan_.send_depth()) {
    if (!step(idle) || !take_sends(line)) {
      return false;
    }
  }
  if (!line.poster.post(1)) {
    watch_.fail(line.poster.reason());
    return false;
  }
  if (plan_.repeats()) {
    last_line_ = &line;
    last_sent_ = endpoint_.now();
  }
  return true;
}

void Pinger::nudge() {
  if (last_line_ == nullptr || endpoint_.now() - last_sent_ < kRepeatAfter) {
    return;
  }
  last_sent_ = endpoint_.now();
  if (take_sends(*last_line_) && !last_line_->poster.post_again()) {
    watch_.fail(last_line_->poster.reason());
  }
  ++outcome_.repeated;
}

/// One round of waiting; false when the run has to end.
bool Pinger::step(uint32_t& idle) {
  ++idle;
  mover_.move();
  if (mover_.drives() || idle > kSpins) {
    mover_.rest();
  }
  if (idle % kSpins == 0) {
    for (const auto& line : lines_) {
      take_sends(*line);  // where an error would show
    }
    nudge();
    watch_.look(endpoint_.now());
  }
  return watch_.running();
}

bool Pinger::take_sends(Line& line) {
  if (!line.poster.take()) {
    watch_.fail(line.poster.reason());
    return false;
  }
  return true;
}

bool Pinger::drain() {
  bool fine = true;
  for (const auto& line : lines_) {
    fine = fine && drain(*line);
  }
  return fine;
}

bool Pinger::drain(Line& line) {
  uint32_t idle = 0;
  while (take_sends(line) && line.poster.under_way() > 0) {
    if (!step(idle)) {
      return false;
    }
  }
  return !watch_.failed();
}

/// Waits for the next message and returns its line; null when the run has to end.
Pinger::Line* Pinger::await(uint64_t number) {
  Line& line = line_of(number);
  if (plan_.watches_memory()) {
    return await_byte(line) ? &line : nullptr;
  }
  // Stock clients have several queue pairs' messages under way at once.
  const bool any = plan_.stock && lines_.size() > 1;
  uint32_t idle = 0;
  for (;;) {
    for (size_t i = 0; i < (any ? lines_.size() : 1); ++i) {
      Line& next = any ? *lines_[i] : line;
      if (!take_receives(next)) {
        return nullptr;
      }
      if (next.arrived > next.accepted) {
        return &next;
      }
    }
    if (!step(idle)) {
      return nullptr;
    }
  }
}

/// What is used is posted again before the answer that lets the next message come.
bool Pinger::take_receives(Line& line) {
  const int count =
      line.receives->poll(line.lane, [&](const ibv_wc& wc) { return take_receive(line, wc); });
  if (count < 0) {
    take_sends(line);  // a flushed receive follows from a send that failed, which says why
    watch_.fail(line.receives->reason());
  }
  return count >= 0;
}

bool Pinger::take_receive(Line& line, const ibv_wc& wc) {
  const uint64_t length = line.receives->length_of(wc);
  if (length != plan_.size) {
    watch_.fail(
        fmt::format("a message of {} bytes came where {} were due; give both ends one "
                    "--size",
                    length, plan_.size));
    return false;
  }
  if (plan_.repeats() && ntohl(wc.imm_data) != static_cast<uint32_t>(line.arrived + 1)) {
    return true;  // it has come before
  }
  line.place = plan_.operation == app::Operation::send ? line.receives->place_of(wc)
                                                       : line.lane.memory.data();
  ++line.arrived;
  return true;
}

bool Pinger::await_byte(const Line& line) {
  std::atomic_ref<uint8_t> last(line.lane.memory[plan_.size - 1]);
  uint32_t idle = 0;
  while (last.load(std::memory_order_acquire) != app::Messages::mark(line.accepted)) {
    if (!step(idle)) {
      return false;
    }
  }
  return true;
}

/// Takes the message that has arrived, and checks it if that is asked for.
bool Pinger::accept(Line& line) {
  if (plan_.validate && plan_.stock && !accept_stock(line)) {
    return false;
  }
  if (plan_.validate && !plan_.stock) {
    const roce::Instant give_up = endpoint_.now() + kSettleLimit;
    auto wrong = compare(line);
    while (wrong && plan_.watches_memory() && endpoint_.now() < give_up) {
      endpoint_.poll();
      wrong = compare(line);
    }
    if (wrong) {
      watch_.fail(fmt::format("wrong data: {}", app::text_of(*wrong)));
      return false;
    }
  }
  ++line.accepted;
  outcome_.checked += plan_.validate ? 1 : 0;
  return true;
}

bool Pinger::accept_stock(const Line& line) {
  for (size_t page = 0; page < plan_.size; page += kPage) {
    if (line.place[page] != 0) {
      watch_.fail(fmt::format("invalid data in page {}", page / kPage));
      return false;
    }
  }
  return true;
}

bool Pinger::check_served(uint64_t iterations) {
  for (size_t i = 0; plan_.validate && is_atomic(plan_.operation) && i < lines_.size(); ++i) {
    const uint64_t share = Plan::share_of(i, lines_.size(), iterations);
    if (const auto wrong = app::check_word(lines_[i]->lane.memory.data(), share)) {
      watch_.fail(fmt::format("wrong count after {} atomics: {}", share, app::text_of(*wrong)));
      return false;
    }
  }
  return true;
}

std::optional<app::WrongByte> Pinger::compare(const Line& line) const {
  // The mark at a WRITE's end has been seen already.
  const uint64_t length = plan_.size - (plan_.watches_memory() ? 1 : 0);
  const uint64_t expected = plan_.one_sided() ? line.accepted % Plan::kReceivePlaces
                                              : Plan::number_of(line.accepted, !plan_.server);
  auto wrong = is_atomic(plan_.operation) ? app::check_word(line.lane.memory.data(), line.accepted)
                                          : pattern_.check({line.place, length}, expected);
  if (wrong) {
    wrong->message = line.accepted;
  }
  return wrong;
}

}  // namespace uroce::pingpong
