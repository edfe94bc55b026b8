// ReplyQueue: the responder's READs and atomics: those still to be answered, in order, and the last
// ones answered, kept so that duplicates can be answered again (spec/error-behaviour.md R3..R5,
// R10). Bounded by max_dest_rd_atomic.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/psn.h"

namespace roce {

/// What a request is answered with.
enum class ReplyKind : uint8_t {
  read,    ///< READ RESPONSEs with data
  atomic,  ///< ATOMIC ACKNOWLEDGE with the stored result
  empty,   ///< one READ RESPONSE without data: FLUSH and ATOMIC WRITE
};

struct Reply {
  Psn first_psn;           ///< of the request
  uint32_t psn_count = 0;  ///< response packets
  uint32_t msn = 0;        ///< as sent in its AETHs
  ReplyKind kind = ReplyKind::read;
  bool pending = false;   ///< to be sent from `next` on
  bool answered = false;  ///< has been sent to its end at least once
  uint32_t next = 0;      ///< index of the response packet to be sent next
  uint32_t begin = 0;     ///< first packet of this (re)execution
  uint32_t end = 0;       ///< one past its last packet
  uint64_t original = 0;  ///< atomics: the stored result
  uint64_t va = 0;        ///< READ: of the whole original request
  uint32_t rkey = 0;
  uint32_t length = 0;      ///< READ: bytes of the whole original request
  uint32_t end_offset = 0;  ///< READ: bytes from va at which this (re)execution ends

  bool covers(Psn psn) const { return (psn - first_psn.value()).value() < psn_count; }
};

class ReplyQueue {
 public:
  /// Forgets everything; `capacity`: 0..kMaxRdAtomic. Allocates: control path only.
  void reset(uint32_t capacity) {
    if (capacity > allocated_) {
      slots_ = std::make_unique<Reply[]>(capacity);
      allocated_ = capacity;
    }
    capacity_ = capacity;
    newest_ = used_ = pending_ = 0;
  }

  /// Changes the capacity, but not to less than there are requests yet to be answered; the newest
  /// ones stay. Allocates: control path only.
  void resize(uint32_t capacity) {
    uint32_t slot = oldest();
    uint32_t unanswered = 0;
    for (uint32_t i = 0; i < used_; ++i) {
      unanswered += slots_[i].answered ? 0 : 1;
    }
    capacity = std::max(capacity, unanswered);
    auto slots = std::make_unique<Reply[]>(capacity);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < used_; ++i, slot = next_slot(slot)) {
      if (used_ - i <= capacity) {
        slots[kept++] = slots_[slot];
      } else {
        pending_ -= slots_[slot].pending ? 1 : 0;
      }
    }
    slots_ = std::move(slots);
    allocated_ = capacity_ = capacity;
    used_ = kept;
    newest_ = kept > 0 ? kept - 1 : 0;
  }

  uint32_t capacity() const { return capacity_; }
  /// Replies that have not been sent to their end.
  uint32_t pending() const { return pending_; }

  /// A slot for a new request, which is pending from now on; nullptr when `capacity` requests are
  /// unanswered already. Overwrites the oldest answered one, even if a duplicate of it has made it
  /// pending again: a peer that sends a further request has got that answer.
  Reply* push() {
    if (capacity_ == 0 || (used_ == capacity_ && !slots_[oldest()].answered)) {
      return nullptr;
    }
    if (used_ == capacity_ && slots_[oldest()].pending) {
      finish(slots_[oldest()]);
    }
    newest_ = used_ == 0 ? 0 : next_slot(newest_);
    used_ += used_ < capacity_ ? 1 : 0;
    Reply& reply = slots_[newest_];
    reply = Reply{};
    reply.pending = true;
    ++pending_;
    return &reply;
  }

  /// The request that `psn` belongs to, or nullptr.
  Reply* find(Psn psn) {
    for (uint32_t i = 0, slot = oldest(); i < used_; ++i, slot = next_slot(slot)) {
      if (slots_[slot].covers(psn)) {
        return &slots_[slot];
      }
    }
    return nullptr;
  }

  /// The oldest pending one. Requires pending() > 0.
  Reply& front() {
    uint32_t slot = oldest();
    while (!slots_[slot].pending) {
      slot = next_slot(slot);
    }
    return slots_[slot];
  }

  /// Marks a kept reply to be sent again from packet `begin` up to `end`.
  void replay(Reply& reply, uint32_t begin, uint32_t end) {
    pending_ += reply.pending ? 0 : 1;
    reply.pending = true;
    reply.next = reply.begin = begin;
    reply.end = end;
  }

  void finish(Reply& reply) {
    ROCE_DCHECK(reply.pending);
    reply.answered = true;
    reply.pending = false;
    --pending_;
  }

 private:
  uint32_t next_slot(uint32_t slot) const { return slot + 1 == capacity_ ? 0 : slot + 1; }
  uint32_t oldest() const { return used_ < capacity_ ? 0 : next_slot(newest_); }

  std::unique_ptr<Reply[]> slots_;
  uint32_t allocated_ = 0;
  uint32_t capacity_ = 0;
  uint32_t newest_ = 0;
  uint32_t used_ = 0;
  uint32_t pending_ = 0;
};

}  // namespace roce
