// MemoryRegion: what one key gives access to. Owned by the RegionTable.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace roce {

/// Access rights as a bit set; the values are those of enum ibv_access_flags.
enum class Access : uint32_t {
  none = 0,
  local_write = 1,
  remote_write = 2,
  remote_read = 4,
  remote_atomic = 8,
  mw_bind = 16,
  zero_based = 32,
};

constexpr Access operator|(Access a, Access b) {
  return static_cast<Access>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}
constexpr bool allows(Access granted, Access needed) {
  return (static_cast<uint32_t>(granted) & static_cast<uint32_t>(needed)) ==
         static_cast<uint32_t>(needed);
}

/// One cache line: a key check touches nothing else.
struct alignas(64) MemoryRegion {
  uint64_t va = 0;          ///< address by which peers and SGEs name the first byte
  uint64_t length = 0;      ///< bytes
  uint8_t* host = nullptr;  ///< where the first byte is; nullptr: slot is free
  uint32_t key = 0;         ///< lkey and rkey alike
  uint32_t pd = 0;          ///< protection domain
  Access access = Access::none;

  /// Host address of [at, at + len), or nullptr when it is not wholly inside.
  uint8_t* resolve(uint64_t at, uint64_t len) const {
    const uint64_t offset = at - va;  // a wrap makes it huge, which the comparison refuses
    return offset <= length && len <= length - offset ? host + offset : nullptr;
  }
};

static_assert(sizeof(MemoryRegion) == 64);

}  // namespace roce
