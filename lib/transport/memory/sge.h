// Scatter/gather lists: walking a byte range of one, region by region.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "memory/region_table.h"

namespace roce {

/// Same layout as ibv_sge.
struct Sge {
  uint64_t addr = 0;    ///< address inside the region of `lkey`
  uint32_t length = 0;  ///< bytes
  uint32_t lkey = 0;
};

/// A place in a scatter/gather list.
struct SgePosition {
  uint32_t index = 0;
  uint32_t offset = 0;  ///< bytes into entry `index`
};

/// Where keys are looked up, and for whom.
struct MemoryDomain {
  const RegionTable& regions;
  uint32_t pd;
};

enum class MemoryFault : uint8_t {
  none,
  protection,  ///< key unknown, of another PD, without the right, or range outside the region
  length,      ///< the list ends before the range does
};

/// Moves `at` forward by `len` bytes; the list must be that long.
inline void advance(std::span<const Sge> list, SgePosition& at, uint64_t len) {
  while (len > 0 && at.index < list.size()) {
    const uint64_t n = std::min<uint64_t>(len, list[at.index].length - at.offset);
    at.offset += static_cast<uint32_t>(n);
    len -= n;
    if (at.offset == list[at.index].length) {
      at = {at.index + 1, 0};
    }
  }
}

/// Calls visit(uint8_t* host, uint32_t len) for the pieces of the `len` bytes at `at`, in order,
/// and moves `at` behind them. On a fault the pieces before it have been visited.
template <class Visit>
MemoryFault walk(const MemoryDomain& domain, std::span<const Sge> list, SgePosition& at,
                 uint32_t len, Access needed, Visit&& visit) {
  while (len > 0) {
    if (at.index >= list.size()) {
      return MemoryFault::length;
    }
    const Sge& sge = list[at.index];
    const uint32_t n = std::min(len, sge.length - at.offset);
    if (n > 0) {
      uint8_t* host =
          domain.regions.resolve_local(sge.lkey, domain.pd, sge.addr + at.offset, n, needed);
      if (host == nullptr) {
        return MemoryFault::protection;
      }
      visit(host, n);
    }
    at.offset += n;
    len -= n;
    if (at.offset == sge.length) {
      at = {at.index + 1, 0};
    }
  }
  return MemoryFault::none;
}

}  // namespace roce
