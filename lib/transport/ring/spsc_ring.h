// SpscRing: hands values from one thread to one other thread, in order, without locks. Owned by
// whoever connects the two threads (a queue pair, a completion queue); it must outlive both.
//
// One thread is the producer, one the consumer (they may be the same thread). The producer fills
// slots and publishes them in batches; the consumer looks at the published slots in place, for as
// long as it likes, and gives them back in batches.
//
// Memory orders. Every index has one writer; nothing else is shared between the threads.
//
//   index       written by  in          order    read by   in            order    pairs to say
//   published_  producer    publish()   release  consumer  available()   acquire  slots are filled
//   released_   consumer    pop()       release  producer  free_slots()  acquire  slots are unused
//
//   staged_, released_copy_    producer only: plain
//   head_, published_copy_     consumer only: plain
//   slots_[i]                  plain: the producer's from the release of the slot to its
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
  /// allocates. `first_index` is where the indexes start; only tests need another than 0.
  explicit SpscRing(size_t capacity, uint32_t first_index = 0)
      : capacity_(checked(capacity)),
        mask_(static_cast<uint32_t>(std::bit_ceil(capacity) - 1)),
        slots_(std::make_unique<T[]>(std::bit_ceil(capacity))),
        staged_(first_index),
        released_copy_(first_index),
        published_(first_index),
        head_(first_index),
        published_copy_(first_index),
        released_(first_index) {}

  SpscRing(const SpscRing&) = delete;
  SpscRing& operator=(const SpscRing&) = delete;

  /// Thread: any.
  size_t capacity() const { return capacity_; }

  /// Slots that can be filled now, staged ones not counted. May be fewer than really are free, but
  /// never when fewer than `wanted`: only then is the consumer's index read again.
  /// Thread: producer.
  size_t free_slots(size_t wanted = 1) {
    size_t free = capacity_ - (staged_ - released_copy_);
    if (free < wanted) {
      released_copy_ = released_.load(std::memory_order_acquire);
      free = capacity_ - (staged_ - released_copy_);
    }
    return free;
  }

  /// The i-th free slot, to be filled in place and then staged. Its old content is arbitrary.
  /// Requires i < the last result of free_slots() less what was staged since. Thread: producer.
  T& slot(size_t i) {
    ROCE_DCHECK(i < capacity_ - (staged_ - released_copy_));
    return slots_[(staged_ + static_cast<uint32_t>(i)) & mask_];
  }

  /// Counts slot(0)..slot(n-1) as filled. The consumer sees them after publish().
  /// Requires n <= the last result of free_slots() less what was staged since. Thread: producer.
  void stage(size_t n) {
    ROCE_DCHECK(n <= capacity_ - (staged_ - released_copy_));
    staged_ += static_cast<uint32_t>(n);
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
  size_t unpublished() const { return staged_ - published_.load(std::memory_order_relaxed); }

  /// Shows everything staged to the consumer. Thread: producer.
  void publish() { published_.store(staged_, std::memory_order_release); }

  /// Takes back what was staged since the last publish(), as if it never had been pushed.
  /// Thread: producer.
  void unstage() { staged_ = published_.load(std::memory_order_relaxed); }

  /// Published elements that have not been popped. May be fewer than there really are, but never
  /// when fewer than `wanted`: only then is the producer's index read again. Thread: consumer.
  size_t available(size_t wanted = 1) {
    size_t n = published_copy_ - head_;
    if (n < wanted) {
      published_copy_ = published_.load(std::memory_order_acquire);
      n = published_copy_ - head_;
    }
    return n;
  }

  /// The i-th oldest element, in place; the consumer's own, to change as well, until popped.
  /// Requires i < the last result of available() less what was popped since. Thread: consumer.
  T& front(size_t i = 0) {
    ROCE_DCHECK(i < published_copy_ - head_);
    return slots_[(head_ + static_cast<uint32_t>(i)) & mask_];
  }

  /// Gives the n oldest elements' slots back to the producer.
  /// Requires n <= the last result of available() less what was popped since. Thread: consumer.
  void pop(size_t n = 1) {
    ROCE_DCHECK(n <= published_copy_ - head_);
    head_ += static_cast<uint32_t>(n);
    released_.store(head_, std::memory_order_release);
  }

 private:
  static uint32_t checked(size_t capacity) {
    ROCE_CHECK(capacity >= 1 && capacity <= kMaxCapacity);
    return static_cast<uint32_t>(capacity);
  }

  // Constant after construction: shared for reading.
  const uint32_t capacity_;
  const uint32_t mask_;
  const std::unique_ptr<T[]> slots_;

  // Indexes grow without bound and wrap at 2^32; differences of two are exact. Each side's private
  // ones are apart from the one it shares, so that the other side's polling does not slow staging.
  alignas(kSharingUnit) uint32_t staged_;
  uint32_t released_copy_;
  alignas(kSharingUnit) std::atomic<uint32_t> published_;
  alignas(kSharingUnit) uint32_t head_;
  uint32_t published_copy_;
  alignas(kSharingUnit) std::atomic<uint32_t> released_;
};

}  // namespace roce
