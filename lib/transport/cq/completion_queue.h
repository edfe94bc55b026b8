// CompletionQueue: a bounded ring of completions from one engine to one consumer. Holds exactly the
// asked number of entries. When it is full, a further completion is lost and the queue is in error
// for good (spec/error-behaviour.md R16, Q10).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "cq/cqe.h"
#include "ring/spsc_ring.h"

namespace roce {

class CompletionQueue {
 public:
  /// `entries`: 1..kMaxCqe.
  explicit CompletionQueue(uint32_t entries) : ring_(entries) {}

  uint32_t capacity() const { return static_cast<uint32_t>(ring_.capacity()); }

  /// Appends a completion; false when the queue has overrun. Visible after publish().
  /// Thread: engine.
  bool push(const Cqe& cqe) {
    if (!ring_.push(cqe)) {
      overrun_.store(true, std::memory_order_relaxed);
      return false;
    }
    return true;
  }

  /// Makes everything pushed so far visible to poll(). Thread: engine, once a burst.
  void publish() { ring_.publish(); }

  /// True when a completion has been lost. Thread: any.
  bool overrun() const { return overrun_.load(std::memory_order_relaxed); }

  /// Calls take(const Cqe&) for up to `limit` completions, oldest first; returns for how many.
  /// Thread: consumer.
  template <class Take>
  size_t poll(size_t limit, Take&& take) {
    size_t taken = 0;
    size_t popped = 0;
    const size_t n = ring_.available();
    for (; taken < limit && popped < n; ++popped) {
      const Cqe& cqe = ring_.front(popped);
      if (cqe.qpn != kPurged) {
        take(cqe);
        ++taken;
      }
    }
    if (popped > 0) {
      ring_.pop(popped);
    }
    return taken;
  }

  /// The same into an array.
  size_t poll(std::span<Cqe> out) {
    Cqe* to = out.data();
    return poll(out.size(), [&to](const Cqe& cqe) { *to++ = cqe; });
  }

  /// Makes the completions of a QP that was reset or destroyed undeliverable. The engine must have
  /// published its last one before. Thread: consumer.
  void purge(uint32_t qpn) {
    const size_t n = ring_.available(ring_.capacity());
    for (size_t i = 0; i < n; ++i) {
      if (ring_.front(i).qpn == qpn) {
        ring_.front(i).qpn = kPurged;
      }
    }
  }

 private:
  static constexpr uint32_t kPurged = UINT32_MAX;  // no QPN: those have 24 bits

  SpscRing<Cqe> ring_;
  std::atomic<bool> overrun_{false};
};

}  // namespace roce
