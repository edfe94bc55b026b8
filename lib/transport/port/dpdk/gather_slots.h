// GatherSlots: follows frames whose payload stays in user memory. DPDK reports the end of an
// external buffer by a callback, in any order and on any thread; the port must report whole frames
// in the order of acceptance. Each frame gets a slot of a ring; the callback marks it. Owner: one
// DpdkPort. Thread: the port's, except the callback itself.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>

#include <rte_mbuf.h>

namespace roce::dpdk {

class GatherSlots {
 public:
  GatherSlots() = default;
  ~GatherSlots();
  GatherSlots(const GatherSlots&) = delete;
  GatherSlots& operator=(const GatherSlots&) = delete;

  /// Allocates `count` slots, a power of two. Returns false when memory runs out.
  bool allocate(uint32_t count);

  /// The shared info for the next frame, of `segments` external buffers, or null when every slot
  /// is in use. Up to `count` frames can be open before commit().
  rte_mbuf_ext_shared_info* open(uint32_t segments);

  /// The first `accepted` of the frames opened since the last commit have been sent; the others are
  /// forgotten (their buffers must have been detached).
  void commit(uint64_t accepted);

  /// Frames committed so far whose buffers have been read for the last time, in order.
  uint64_t done();

  bool idle() { return done() == committed_; }

  /// Leaves the slots to the callbacks that may still come, for ever.
  void abandon() { slots_ = nullptr; }

 private:
  struct Slot {
    rte_mbuf_ext_shared_info info;
    std::atomic<bool> released;
  };

  static void on_released(void* address, void* slot);

  Slot* slots_ = nullptr;  // in EAL memory: a peer in this process may outlive the port
  uint32_t mask_ = 0;
  uint64_t opened_ = 0;
  uint64_t committed_ = 0;
  uint64_t done_ = 0;
};

}  // namespace roce::dpdk
