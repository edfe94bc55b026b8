// Slots are kept at most half full, so a random free one is found in two draws on average.
// SPDX-License-Identifier: BSD-3-Clause
#include "memory/region_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace roce {
namespace {

constexpr uint32_t kMinSlots = 1u << 13;

}  // namespace

RegionTable::RegionTable(uint32_t max_regions, RandomSource random)
    : max_regions_(max_regions),
      index_mask_(std::max(std::bit_ceil(max_regions * 2), kMinSlots) - 1),
      bytes_((size_t{index_mask_} + 1) * sizeof(MemoryRegion)),
      random_(std::move(random)) {
  ROCE_CHECK(max_regions > 0 && max_regions <= 1u << 20);
  void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ROCE_CHECK(p != MAP_FAILED);
  slots_ = static_cast<MemoryRegion*>(p);
}

RegionTable::~RegionTable() {
  munmap(slots_, bytes_);
}

Result<uint32_t> RegionTable::add(const MemoryRegion& region) {
  if (size_ == max_regions_) {
    return failure(ENOMEM, "all " + std::to_string(max_regions_) +
                               " memory regions are in use; deregister some or raise the limit");
  }
  for (;;) {
    const auto key = static_cast<uint32_t>(random_());
    MemoryRegion& slot = slots_[key & index_mask_];
    // Key 0 is what an application that forgot to fill in the field would send.
    if (slot.host == nullptr && key != 0 && key != slot.key) {
      slot = region;
      slot.key = key;
      ++size_;
      return key;
    }
  }
}

bool RegionTable::remove(uint32_t key) {
  if (find(key) == nullptr) {
    return false;
  }
  slots_[key & index_mask_].host = nullptr;
  --size_;
  return true;
}

}  // namespace roce
