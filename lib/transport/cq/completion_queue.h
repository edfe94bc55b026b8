// CompletionQueue: a bounded ring of completions from one engine to one consumer. Holds exactly the
// asked number of entries. When it is full, a further completion is lost and the queue is in error
// for good (spec/error-behaviour.md R16, Q10).
//
// A consumer that does not want to poll arms the queue; the next completion that it asked for then
// calls the queue's notifier, once.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "cq/cqe.h"
#include "ring/spsc_ring.h"

namespace roce {

/// Who is told that an armed completion queue has something.
class CqNotifier {
 public:
  virtual ~CqNotifier() = default;
  /// Thread: the engine's. May make a system call: it happens once an arming.
  virtual void on_completion_event() = 0;
};

class CompletionQueue {
 public:
  /// What a consumer waits for.
  enum class Arm : uint8_t { none, solicited, any };

  /// `entries`: 1..kMaxCqe. `timestamps`: each completion is given the engine's time as well.
  /// `notifier` must outlive the queue; nullptr: it cannot be armed.
  explicit CompletionQueue(uint32_t entries, bool timestamps = false,
                           CqNotifier* notifier = nullptr)
      : notifier_(notifier) {
    ring_.emplace(entries);
    if (timestamps) {
      times_.emplace(entries);
    }
  }

  uint32_t capacity() const { return static_cast<uint32_t>(ring_->capacity()); }
  bool has_timestamps() const { return times_.has_value(); }

  /// Appends a completion; false when the queue has overrun. Visible after publish().
  /// Thread: engine.
  bool push(const Cqe& cqe) {
    if (cqe.status != CompletionStatus::success) [[unlikely]] {
      note_failed(cqe);
    }
    if (!ring_->push(cqe)) [[unlikely]] {
      note_lost(cqe);
      return false;
    }
    const bool wakes = (cqe.flags & kCqeSolicited) != 0 || cqe.status != CompletionStatus::success;
    pushed_ |= wakes ? kPushedSolicited : kPushedAny;
    return true;
  }

  /// Makes everything pushed so far visible to poll(), and wakes a consumer that has asked for it.
  /// Thread: engine, once a burst.
  void publish(Instant now) {
    if (pushed_ == 0) {
      return;
    }
    if (times_) [[unlikely]] {
      for (size_t n = ring_->unpublished(); n > 0; --n) {
        times_->push(now);
      }
      times_->publish();
    }
    ring_->publish();
    if ((pushed_ & kLost) != 0) [[unlikely]] {
      overrun_.store(true, std::memory_order_release);
    }
    if (notifier_ != nullptr) [[unlikely]] {
      notify();
    }
    pushed_ = 0;
  }

  /// True when a completion has been lost; all that were pushed before it are visible then.
  /// Thread: any.
  bool overrun() const { return overrun_.load(std::memory_order_acquire); }

  /// Asks for one call of the notifier, at the next completion pushed from now on. Completions that
  /// are there already do not count: poll again after arming. A wish for any completion is not
  /// narrowed by a later one for solicited ones. Requires a notifier. Thread: consumer.
  void arm(bool solicited_only) {
    Arm seen = arm_.load(std::memory_order_relaxed);
    const Arm wish = solicited_only ? Arm::solicited : Arm::any;
    while (seen < wish && !arm_.compare_exchange_weak(seen, wish, std::memory_order_seq_cst)) {
    }
    // Pairs with the fence in notify(): either the engine sees the wish, or the consumer, who polls
    // after this, sees the completion.
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }

  /// Calls take(const Cqe&, Instant) for up to `limit` completions, oldest first; returns for how
  /// many: fewer than `limit` when the queue is empty then. The time is zero in a queue without
  /// timestamps. Thread: consumer.
  template <class Take>
  size_t poll_timed(size_t limit, Take&& take) {
    size_t taken = 0;
    // A second round only when purged completions were among the first: fewer than `limit` means
    // that the queue is empty.
    for (size_t n; taken < limit && (n = ring_->available(limit - taken)) > 0;) {
      if (times_) {
        times_->available(n);
      }
      const size_t round = std::min(n, limit - taken);
      for (size_t i = 0; i < round; ++i) {
        const Cqe& cqe = ring_->front(i);
        if (cqe.qpn != kPurged) {
          take(cqe, times_ ? times_->front(i) : Instant{});
          ++taken;
        }
      }
      ring_->pop(round);
      if (times_) {
        times_->pop(round);
      }
    }
    return taken;
  }

  /// The same without times.
  template <class Take>
  size_t poll(size_t limit, Take&& take) {
    return poll_timed(limit, [&take](const Cqe& cqe, Instant /*unused*/) { take(cqe); });
  }

  /// The same into an array.
  size_t poll(std::span<Cqe> out) {
    Cqe* to = out.data();
    return poll(out.size(), [&to](const Cqe& cqe) { *to++ = cqe; });
  }

  /// Makes the completions of a QP that was reset or destroyed undeliverable. The engine must have
  /// published its last one before. Thread: consumer.
  void purge(uint32_t qpn) {
    const size_t n = ring_->available(ring_->capacity());
    for (size_t i = 0; i < n; ++i) {
      if (ring_->front(i).qpn == qpn) {
        ring_->front(i).qpn = kPurged;
      }
    }
  }

  /// Changes the capacity and keeps what the queue holds and shows; false when that is more than
  /// `entries`. Requires publish() before.
  /// Thread: while neither the engine nor the consumer uses the queue.
  bool resize(uint32_t entries) {
    std::vector<Cqe> kept;
    std::vector<Instant> times;
    const size_t n = ring_->available(ring_->capacity());
    if (times_) {
      times_->available(n);
    }
    for (size_t i = 0; i < n; ++i) {
      if (ring_->front(i).qpn != kPurged) {
        kept.push_back(ring_->front(i));
        times.push_back(times_ ? times_->front(i) : Instant{});
      }
    }
    if (kept.size() > entries) {
      return false;
    }
    ring_.emplace(entries);
    ring_->push(std::span<const Cqe>(kept));
    ring_->publish();
    if (times_) {
      times_.emplace(entries);
      times_->push(std::span<const Instant>(times));
      times_->publish();
    }
    return true;
  }

 private:
  // Of their own, so that push() stays small where it is compiled in.
  static void note_failed(const Cqe& cqe);
  void note_lost(const Cqe& cqe);

  static constexpr uint32_t kPurged = UINT32_MAX;  // no QPN: those have 24 bits
  static constexpr uint8_t kPushedAny = 1;
  static constexpr uint8_t kPushedSolicited = 2;
  static constexpr uint8_t kLost = 4;

  void notify() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const Arm arm = arm_.load(std::memory_order_relaxed);
    if ((arm == Arm::any && pushed_ != kLost) ||
        (arm == Arm::solicited && (pushed_ & kPushedSolicited) != 0)) {
      arm_.store(Arm::none, std::memory_order_relaxed);
      notifier_->on_completion_event();
    }
  }

  // In place, and made anew by resize() only.
  std::optional<SpscRing<Cqe>> ring_;
  std::optional<SpscRing<Instant>> times_;
  CqNotifier* notifier_;
  uint8_t pushed_ = 0;  // kPushed... and kLost, since the last publish(); the engine's
  std::atomic<Arm> arm_{Arm::none};
  std::atomic<bool> overrun_{false};
};

}  // namespace roce
