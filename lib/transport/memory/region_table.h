// RegionTable: key -> MemoryRegion. The only place where a key is checked.
// A key is a slot index plus a random tag. The slot is drawn at random as well, so at least 24 bits
// of a key are unguessable (asserted), and a key is never reused by counting. Thread: the engine's,
// for every method.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "base/random.h"
#include "base/result.h"
#include "memory/region.h"

namespace roce {

class RegionTable {
 public:
  /// `max_regions`: 1..2^20. Memory is committed only for slots that get used.
  RegionTable(uint32_t max_regions, RandomSource random);
  ~RegionTable();
  RegionTable(const RegionTable&) = delete;
  RegionTable& operator=(const RegionTable&) = delete;

  /// Registers `region` (its key is chosen here) and returns the key. ENOMEM when the table is
  /// full.
  Result<uint32_t> add(const MemoryRegion& region);

  /// Forgets the key; false when there is no such region.
  bool remove(uint32_t key);

  /// The region of a live key, or nullptr.
  const MemoryRegion* find(uint32_t key) const {
    const MemoryRegion& slot = slots_[key & index_mask_];
    return slot.host != nullptr && slot.key == key ? &slot : nullptr;
  }

  /// Host address of [va, va + len) if `key` is live, belongs to `pd`, grants `needed` and covers
  /// the range; else nullptr.
  uint8_t* resolve(uint32_t key, uint32_t pd, uint64_t va, uint64_t len, Access needed) const {
    const MemoryRegion* region = find(key);
    if (region == nullptr || region->pd != pd || !allows(region->access, needed)) {
      return nullptr;
    }
    return region->resolve(va, len);
  }

  uint32_t size() const { return size_; }

 private:
  uint32_t max_regions_;
  uint32_t index_mask_;
  uint32_t size_ = 0;
  size_t bytes_;
  MemoryRegion* slots_;  // anonymous mapping: zero pages until touched
  RandomSource random_;
};

}  // namespace roce
