// MemoryRegion: one registered piece of user memory, or a window into one, and what may be done
// with it.
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
  flush_global = 1u << 8,
  flush_persistent = 1u << 9,
};

constexpr Access operator|(Access a, Access b) {
  return static_cast<Access>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}
constexpr Access operator&(Access a, Access b) {
  return static_cast<Access>(static_cast<uint32_t>(a) & static_cast<uint32_t>(b));
}
constexpr bool allows(Access granted, Access needed) {
  return (granted & needed) == needed;
}

/// What a slot of the table holds. A window of type 1 is open to every queue pair of its protection
/// domain, one of type 2 to the queue pair that bound it (type 2B of the specification).
enum class RegionKind : uint8_t { region, window_1, window_2 };

/// One cache line: a key check touches nothing else.
struct alignas(64) MemoryRegion {
  uint64_t va = 0;          ///< address by which peers and SGEs name the first byte
  uint64_t length = 0;      ///< bytes
  uint8_t* host = nullptr;  ///< where the first byte is; nullptr: nothing to be reached
  uint32_t key = 0;         ///< lkey and rkey alike
  uint32_t pd = 0;          ///< protection domain
  Access access = Access::none;
  uint32_t qpn = 0;      ///< bound window of type 2: its queue pair; else 0
  uint32_t parent = 0;   ///< bound window: the key of its region; else 0
  uint32_t windows = 0;  ///< region: windows bound to it
  RegionKind kind = RegionKind::region;
  bool live = false;  ///< the slot is in use

  /// Host address of [at, at + len), or nullptr when it is not wholly inside.
  uint8_t* resolve(uint64_t at, uint64_t len) const {
    const uint64_t offset = at - va;  // a wrap makes it huge, which the comparison refuses
    return host != nullptr && offset <= length && len <= length - offset ? host + offset : nullptr;
  }
};

static_assert(sizeof(MemoryRegion) == 64);

}  // namespace roce
