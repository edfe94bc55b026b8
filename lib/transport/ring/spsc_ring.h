// SpscRing: hands values from one thread to one other thread, in order, without locks. Owned by
// whoever connects the two threads (a queue pair, a completion queue); it must outlive both.
//
// One thread is the producer, one the consumer (they may be the same thread). The producer fills
// slots and publishes them in batches; the consumer looks at the published slots in place, for as
// long as it likes, and gives them back in batches.
//
// Memory orders. Every index has one writer; nothing else is shared between the threads.
//
//   index      written by  in         order    read by   in            order    pairs to say
//   published  producer    publish()  release  consumer  available()   acquire  slots are filled
//   released   consumer    pop()      release  producer  free_slots()  acquire  slots are unused
//
//   staged, released_copy      producer only: plain
//   head, published_copy       consumer only: plain
//   slots[i]                   plain: the producer's from the release of the slot to its
//                              publication, the consumer's from then on
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "base/check.h"

namespace roce {

/// What a ring may carry: plain values, copied byte by byte and never destroyed.
template <class T>
concept RingElement = std::is_trivially_copyable_v<T> && std::default_initializable<T>;

/// Bytes that one core fetches together: two 64-byte lines, since neighbouring lines are prefetched
/// in pairs.
inline constexpr size_t kSharingUnit = 128;

template <RingElement T>
class alignas(kSharingUnit) SpscRing {
 public:
  /// Largest capacity: indexes are 32 bits wide and must tell a full ring from an empty one.
  static constexpr size_t kMaxCapacity = size_t{1} << 31;

  /// A ring that holds exactly `capacity` elements (1..kMaxCapacity, checked); the only place that
  /// allocates. `first_index` is where the indexes start; only tests need another than 0. `note` is
  /// the owner's, who finds it in the lines of either side.
  explicit SpscRing(size_t capacity, uint32_t first_index = 0, uint32_t note = 0)
      : in_{.slots = nullptr,
            .capacity = checked(capacity),
            .mask = static_cast<uint32_t>(std::bit_ceil(capacity) - 1),
            .note = note,
            .staged = first_index,
            .released_copy = first_index,
            .published = first_index},
        out_{.slots = nullptr,
             .mask = in_.mask,
             .note = note,
             .head = first_index,
             .published_copy = first_index,
             .released = first_index,
             .memory = std::make_unique<T[]>(std::bit_ceil(capacity))} {
    in_.slots = out_.slots = out_.memory.get();
  }

  SpscRing(const SpscRing&) = delete;
  SpscRing& operator=(const SpscRing&) = delete;

  /// Thread: any.
  size_t capacity() const { return in_.capacity; }
  /// Thread: producer; consumer.
  uint32_t producer_note() const { return in_.note; }
  uint32_t consumer_note() const { return out_.note; }

  /// Slots that can be filled now, staged ones not counted. May be fewer than really are free, but
  /// never when fewer than `wanted`: only then is the consumer's index read again.
  /// Thread: producer.
  size_t free_slots(size_t wanted = 1) {
    size_t free = in_.capacity - (in_.staged - in_.released_copy);
    if (free < wanted) {
      in_.released_copy = out_.released.load(std::memory_order_acquire);
      free = in_.capacity - (in_.staged - in_.released_copy);
    }
    return free;
  }

  /// The i-th free slot, to be filled in place and then staged. Its old content is arbitrary.
  /// Requires i < the last result of free_slots() less what was staged since. Thread: producer.
  T& slot(size_t i) {
    ROCE_DCHECK(i < in_.capacity - (in_.staged - in_.released_copy));
    return in_.slots[(in_.staged + static_cast<uint32_t>(i)) & in_.mask];
  }

  /// Counts slot(0)..slot(n-1) as filled. The consumer sees them after publish().
  /// Requires n <= the last result of free_slots() less what was staged since. Thread: producer.
  void stage(size_t n) {
    ROCE_DCHECK(n <= in_.capacity - (in_.staged - in_.released_copy));
    in_.staged += static_cast<uint32_t>(n);
  }

  /// Copies and stages as many of `values` as fit, from the front; returns how many.
  /// Thread: producer.
  size_t push(std::span<const T> values) {
    const size_t n = std::min(values.size(), free_slots(values.size()));
    for (size_t i = 0; i < n; ++i) {
      slot(i) = values[i];
    }
    stage(n);
    return n;
  }

  /// Copies and stages one value; false when the ring is full. Thread: producer.
  bool push(const T& value) { return push(std::span<const T>(&value, 1)) == 1; }

  /// Staged elements that publish() has yet to show. Thread: producer.
  size_t unpublished() const { return in_.staged - in_.published.load(std::memory_order_relaxed); }

  /// Shows everything staged to the consumer. Thread: producer.
  void publish() { in_.published.store(in_.staged, std::memory_order_release); }

  /// Takes back what was staged since the last publish(), as if it never had been pushed.
  /// Thread: producer.
  void unstage() { in_.staged = in_.published.load(std::memory_order_relaxed); }

  /// Published elements that have not been popped. May be fewer than there really are, but never
  /// when fewer than `wanted`: only then is the producer's index read again. Thread: consumer.
  size_t available(size_t wanted = 1) {
    size_t n = out_.published_copy - out_.head;
    if (n < wanted) {
      out_.published_copy = in_.published.load(std::memory_order_acquire);
      n = out_.published_copy - out_.head;
    }
    return n;
  }

  /// The i-th oldest element, in place; the consumer's own, to change as well, until popped.
  /// Requires i < the last result of available() less what was popped since. Thread: consumer.
  T& front(size_t i = 0) {
    ROCE_DCHECK(i < out_.published_copy - out_.head);
    return out_.slots[(out_.head + static_cast<uint32_t>(i)) & out_.mask];
  }

  /// The line with the consumer's indexes, and the one of the oldest element once that has come.
  /// Thread: consumer.
  void prefetch() const { __builtin_prefetch(&out_); }
  void prefetch_front() const { __builtin_prefetch(&out_.slots[out_.head & out_.mask]); }

  /// Gives the n oldest elements' slots back to the producer.
  /// Requires n <= the last result of available() less what was popped since. Thread: consumer.
  void pop(size_t n = 1) {
    ROCE_DCHECK(n <= out_.published_copy - out_.head);
    out_.head += static_cast<uint32_t>(n);
    out_.released.store(out_.head, std::memory_order_release);
  }

 private:
  static uint32_t checked(size_t capacity) {
    ROCE_CHECK(capacity >= 1 && capacity <= kMaxCapacity);
    return static_cast<uint32_t>(capacity);
  }

  // All that a thread touches of the ring itself is in its own two lines, of which the other thread
  // reads but the published index; what never changes is there twice. A queue pair has two rings,
  // and with thousands of those each further line is a cache miss a message.
  //
  // Indexes grow without bound and wrap at 2^32; differences of two are exact.
  struct alignas(kSharingUnit) Producer {
    T* slots = nullptr;
    uint32_t capacity = 0;
    uint32_t mask = 0;
    uint32_t note = 0;
    uint32_t staged = 0;
    uint32_t released_copy = 0;
    std::atomic<uint32_t> published;
  };
  struct alignas(kSharingUnit) Consumer {
    T* slots = nullptr;
    uint32_t mask = 0;
    uint32_t note = 0;
    uint32_t head = 0;
    uint32_t published_copy = 0;
    std::atomic<uint32_t> released;
    std::unique_ptr<T[]> memory;
  };

  Producer in_;
  Consumer out_;
};

}  // namespace roce
