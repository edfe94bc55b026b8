// See gather_slots.h. The counters run freely and are masked on use.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/dpdk/gather_slots.h"

#include <new>

#include <rte_malloc.h>

#include "base/check.h"

namespace roce::dpdk {

GatherSlots::~GatherSlots() {
  rte_free(slots_);
}

bool GatherSlots::allocate(uint32_t count) {
  ROCE_CHECK(slots_ == nullptr && count != 0 && (count & (count - 1)) == 0);
  void* memory = rte_zmalloc("uroce gather slots", count * sizeof(Slot), RTE_CACHE_LINE_SIZE);
  if (memory == nullptr) {
    return false;
  }
  slots_ = static_cast<Slot*>(memory);
  for (uint32_t i = 0; i < count; ++i) {
    new (&slots_[i]) Slot{};
  }
  mask_ = count - 1;
  return true;
}

rte_mbuf_ext_shared_info* GatherSlots::open(uint32_t segments) {
  if (opened_ - done_ > mask_ && opened_ - done() > mask_) {
    return nullptr;
  }
  Slot& slot = slots_[opened_++ & mask_];
  slot.released.store(false, std::memory_order_relaxed);
  slot.info.free_cb = on_released;
  slot.info.fcb_opaque = &slot;
  rte_mbuf_ext_refcnt_set(&slot.info, static_cast<uint16_t>(segments));
  return &slot.info;
}

void GatherSlots::commit(uint64_t accepted) {
  ROCE_DCHECK(accepted <= opened_ - committed_);
  committed_ += accepted;
  opened_ = committed_;
}

uint64_t GatherSlots::done() {
  while (done_ != committed_ && slots_[done_ & mask_].released.load(std::memory_order_acquire)) {
    ++done_;
  }
  return done_;
}

void GatherSlots::on_released(void*, void* slot) {
  static_cast<Slot*>(slot)->released.store(true, std::memory_order_release);
}

}  // namespace roce::dpdk
