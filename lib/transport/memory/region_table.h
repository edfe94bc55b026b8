// RegionTable: key -> MemoryRegion or memory window. The only place where a key is checked.
// A key is a slot index and a random tag: bits 8 and up name the slot, the low 8 bits are the part
// that the owner of a window of type 2 may change (ibv_inc_rkey), the rest is drawn at random. The
// slot is drawn at random as well, so at least 24 bits of a key are unguessable, and a key is never
// reused by counting. Thread: the engine's, for every method.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "base/random.h"
#include "base/result.h"
#include "memory/region.h"

namespace roce {

/// Who reaches for memory with a remote key.
struct RemoteUser {
  uint32_t pd = 0;
  uint32_t qpn = 0;
};

/// What a window is bound to (the bind work request).
struct WindowBinding {
  uint32_t window_key = 0;  ///< a key that the window has or had
  uint32_t new_key = 0;     ///< key from now on: other low 8 bits, the rest alike
  uint32_t region_key = 0;
  uint64_t va = 0;
  uint64_t length = 0;  ///< bytes; 0 unbinds a window of type 1
  Access access = Access::none;
};

class RegionTable {
 public:
  /// Bits of a key that name nothing: a window's owner changes them at each bind.
  static constexpr uint32_t kTagBits = 8;

  /// `max_regions`: 1..2^20, regions and windows together. Memory is committed only for slots that
  /// get used.
  RegionTable(uint32_t max_regions, RandomSource random);
  ~RegionTable();
  RegionTable(const RegionTable&) = delete;
  RegionTable& operator=(const RegionTable&) = delete;

  /// Registers `region` (its key is chosen here) and returns the key. ENOMEM when the table is
  /// full.
  Result<uint32_t> add(const MemoryRegion& region);

  /// Changes what a key stands for; the key stays. EINVAL: no such region; EBUSY: windows are
  /// bound to it.
  Status replace(uint32_t key, const MemoryRegion& region);

  /// Forgets the region or window (of which any key it ever had will do). EINVAL: no such key;
  /// EBUSY: windows are bound to the region.
  Status remove(uint32_t key);

  /// Forgets a region whatever is bound to it: its windows lose their memory. Slow with many
  /// windows.
  void remove_region(uint32_t key);

  /// Binds a window on behalf of a work request of `user`. False: a rule of the bind is broken
  /// (spec/protocol-and-verbs.md 4.3) and nothing has changed.
  bool bind(const WindowBinding& binding, const RemoteUser& user);

  /// Takes a window of type 2 out of use until it is bound again; false when `key` names no bound
  /// one that `user` may invalidate.
  bool invalidate(uint32_t key, const RemoteUser& user);

  /// The region or window of a live key, or nullptr.
  const MemoryRegion* find(uint32_t key) const {
    const MemoryRegion& slot = slots_[slot_of(key)];
    return slot.live && slot.key == key ? &slot : nullptr;
  }

  /// Host address of [va, va + len) if `lkey` is a region of `pd` that grants `needed` and covers
  /// the range; else nullptr.
  uint8_t* resolve_local(uint32_t lkey, uint32_t pd, uint64_t va, uint64_t len,
                         Access needed) const {
    const MemoryRegion* region = find(lkey);
    if (region == nullptr || region->kind != RegionKind::region || region->pd != pd ||
        !allows(region->access, needed)) {
      return nullptr;
    }
    return region->resolve(va, len);
  }

  /// The same for a remote key, which may name a window as well.
  uint8_t* resolve_remote(uint32_t rkey, const RemoteUser& user, uint64_t va, uint64_t len,
                          Access needed) const {
    const MemoryRegion* region = find(rkey);
    if (region == nullptr || region->pd != user.pd || !allows(region->access, needed) ||
        (region->kind == RegionKind::window_2 && region->qpn != user.qpn)) {
      return nullptr;
    }
    return region->resolve(va, len);
  }

  uint32_t size() const { return size_; }

 private:
  void release(MemoryRegion& slot);
  uint32_t slot_of(uint32_t key) const { return key >> kTagBits & index_mask_; }
  MemoryRegion* find_mutable(uint32_t key) {
    MemoryRegion& slot = slots_[slot_of(key)];
    return slot.live && slot.key == key ? &slot : nullptr;
  }
  MemoryRegion* find_window(uint32_t key);
  static bool may_bind(const MemoryRegion& window, const WindowBinding& binding,
                       const RemoteUser& user);
  static bool covers(const MemoryRegion& region, const WindowBinding& binding,
                     const RemoteUser& user);
  void unbind(MemoryRegion& window);

  uint32_t max_regions_;
  uint32_t index_mask_;
  uint32_t size_ = 0;
  size_t bytes_;
  MemoryRegion* slots_;  // anonymous mapping: zero pages until touched
  RandomSource random_;
};

}  // namespace roce
