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
constexpr uint32_t kTagMask = (1u << RegionTable::kTagBits) - 1;

Status no_such_key() {
  return failure(EINVAL, "there is no memory region or window with this key");
}

Status still_bound(uint32_t windows) {
  return failure(EBUSY, std::to_string(windows) +
                            " memory windows are bound to the region; unbind or free them first");
}

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
                               " memory regions and windows are in use; free some or raise the "
                               "limit");
  }
  for (;;) {
    const auto key = static_cast<uint32_t>(random_());
    MemoryRegion& slot = slots_[slot_of(key)];
    // Key 0 is what an application that forgot to fill in the field would send.
    if (!slot.live && key != 0 && key != slot.key) {
      slot = region;
      slot.key = key;
      slot.live = true;
      ++size_;
      return key;
    }
  }
}

Status RegionTable::replace(uint32_t key, const MemoryRegion& region) {
  MemoryRegion* const slot = find_mutable(key);
  if (slot == nullptr || slot->kind != RegionKind::region) {
    return no_such_key();
  }
  if (slot->windows > 0) {
    return still_bound(slot->windows);
  }
  *slot = region;
  slot->key = key;
  slot->live = true;
  return {};
}

Status RegionTable::remove(uint32_t key) {
  MemoryRegion* slot = find_mutable(key);
  if (slot == nullptr) {
    slot = find_window(key);
  }
  if (slot == nullptr) {
    return no_such_key();
  }
  if (slot->windows > 0) {
    return still_bound(slot->windows);
  }
  release(*slot);
  return {};
}

void RegionTable::remove_region(uint32_t key) {
  MemoryRegion* const region = find_mutable(key);
  if (region == nullptr) {
    return;
  }
  for (uint32_t i = 0; region->windows > 0 && i <= index_mask_; ++i) {
    if (slots_[i].live && slots_[i].parent == key) {
      unbind(slots_[i]);
    }
  }
  release(*region);
}

void RegionTable::release(MemoryRegion& slot) {
  unbind(slot);
  slot.live = false;
  --size_;
}

/// A window's keys differ in the tag only.
MemoryRegion* RegionTable::find_window(uint32_t key) {
  MemoryRegion& slot = slots_[slot_of(key)];
  const bool same = ((slot.key ^ key) & ~kTagMask) == 0;
  return slot.live && same && slot.kind != RegionKind::region ? &slot : nullptr;
}

bool RegionTable::may_bind(const MemoryRegion& window, const WindowBinding& binding,
                           const RemoteUser& user) {
  if (window.pd != user.pd) {
    return false;
  }
  const uint32_t changed = window.key ^ binding.new_key;
  if ((changed & ~kTagMask) != 0 || changed == 0) {
    return false;  // the key must become another one of the same slot
  }
  // A window of type 2 is invalidated before it is bound again, and always bound to something.
  return window.kind == RegionKind::window_1 || (window.parent == 0 && binding.length > 0);
}

bool RegionTable::covers(const MemoryRegion& region, const WindowBinding& binding,
                         const RemoteUser& user) {
  constexpr Access kWrites = Access::remote_write | Access::remote_atomic;
  const bool writes = (binding.access & kWrites) != Access::none;
  return region.kind == RegionKind::region && region.pd == user.pd &&
         allows(region.access, Access::mw_bind) &&
         (!writes || allows(region.access, Access::local_write)) &&
         region.resolve(binding.va, binding.length) != nullptr;
}

bool RegionTable::bind(const WindowBinding& binding, const RemoteUser& user) {
  MemoryRegion* const window = find_window(binding.window_key);
  if (window == nullptr || !may_bind(*window, binding, user)) {
    return false;
  }
  MemoryRegion* const region = binding.length > 0 ? find_mutable(binding.region_key) : nullptr;
  if (binding.length > 0 && (region == nullptr || !covers(*region, binding, user))) {
    return false;
  }
  unbind(*window);
  window->key = binding.new_key;
  if (region == nullptr) {
    return true;
  }
  ++region->windows;
  window->parent = region->key;
  window->host = region->resolve(binding.va, binding.length);
  window->va = allows(binding.access, Access::zero_based) ? 0 : binding.va;
  window->length = binding.length;
  window->access = binding.access;
  window->qpn = window->kind == RegionKind::window_2 ? user.qpn : 0;
  return true;
}

bool RegionTable::invalidate(uint32_t key, const RemoteUser& user) {
  MemoryRegion* const window = find_mutable(key);
  if (window == nullptr || window->kind != RegionKind::window_2 || window->pd != user.pd ||
      window->parent == 0 || window->qpn != user.qpn) {
    return false;
  }
  unbind(*window);
  return true;
}

void RegionTable::unbind(MemoryRegion& window) {
  if (window.parent != 0) {
    if (MemoryRegion* const region = find_mutable(window.parent)) {
      --region->windows;
    }
  }
  window.parent = window.qpn = 0;
  window.host = nullptr;
  window.length = 0;
  window.access = Access::none;
}

}  // namespace roce
