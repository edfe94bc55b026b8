// WorkQueue: a ring of WQEs of one shape. A WQE takes a power of two of lines (sizeof(Wqe) each),
// so that its further SGEs or inline data lie behind it in one piece. Thread: reserve(), commit()
// and publish() the poster's; everything else the engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "qp/wqe.h"
#include "ring/spsc_ring.h"

namespace roce {

template <class Wqe>
class WorkQueue {
 public:
  /// `entries` WQEs (1..kMaxQpWr), each with room for `bytes_after_first_sge` more, tail included.
  WorkQueue(uint32_t entries, size_t bytes_after_first_sge)
      : ring_(size_t{entries} << shift_for(bytes_after_first_sge), 0,
              shift_for(bytes_after_first_sge)) {}

  uint32_t capacity() const { return static_cast<uint32_t>(ring_.capacity() >> producer_shift()); }

  /// A free slot to fill, or nullptr when the queue is full. Thread: poster.
  Wqe* reserve() {
    const size_t slots = size_t{1} << producer_shift();
    if (ring_.free_slots(slots) < slots) {
      return nullptr;
    }
    return reinterpret_cast<Wqe*>(&ring_.slot(0));
  }
  /// The last sizeof(T) bytes of a WQE's slot, for what does not fit the common shape; the queue
  /// was made with room for it.
  template <class T>
  T& tail(Wqe& wqe) const {
    auto* const slot = reinterpret_cast<std::byte*>(&wqe);
    return *reinterpret_cast<T*>(slot + (sizeof(Wqe) << producer_shift()) - sizeof(T));
  }
  /// Counts the reserved slot as posted; the engine sees it after publish(). Thread: poster.
  void commit() { ring_.stage(size_t{1} << producer_shift()); }
  /// Takes back what was committed since the last publish(). Thread: poster.
  void take_back() { ring_.unstage(); }
  /// Shows what was committed to the engine. Thread: poster.
  void publish() { ring_.publish(); }

  /// True when there are more than `n` WQEs from the oldest unreleased one on. Thread: engine.
  bool has(uint32_t n) {
    const size_t wanted = (size_t{n} + 1) << consumer_shift();
    return ring_.available(wanted) >= wanted;
  }
  /// The n-th WQE from the oldest on. Requires has(n) or an earlier true answer. Thread: engine.
  Wqe& at(uint32_t n) {
    return *reinterpret_cast<Wqe*>(&ring_.front(size_t{n} << consumer_shift()));
  }
  /// Asks for what the engine touches of the queue; then, when that has come, for its first WQE.
  void prefetch() const { ring_.prefetch(); }
  void prefetch_front() const { ring_.prefetch_front(); }
  /// Gives the n oldest slots back to the poster. Thread: engine.
  void release(uint32_t n = 1) { ring_.pop(size_t{n} << consumer_shift()); }
  /// Forgets all WQEs; none may be posted meanwhile. Thread: engine.
  void clear() { ring_.pop(ring_.available(ring_.capacity())); }

 private:
  struct alignas(alignof(Wqe)) Line {
    std::array<std::byte, sizeof(Wqe)> bytes;
  };

  static uint32_t shift_for(size_t extra) {
    const size_t lines = (sizeof(Wqe) + extra + sizeof(Wqe) - 1) / sizeof(Wqe);
    return static_cast<uint32_t>(std::countr_zero(std::bit_ceil(lines)));
  }

  // A WQE is so many lines, as a power of two; the ring keeps it for us.
  uint32_t producer_shift() const { return ring_.producer_note(); }
  uint32_t consumer_shift() const { return ring_.consumer_note(); }

  SpscRing<Line> ring_;
};

using SendQueue = WorkQueue<SendWqe>;
using RecvQueue = WorkQueue<RecvWqe>;

}  // namespace roce
