// Protection domains, memory regions and memory windows.
// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <utility>

#include <roce/verbs.h>

#include "base/limits.h"
#include "compat.h"
#include "objects.h"

namespace roce::verbs {
namespace {

// rdma-core 44's header has no name for it.
constexpr int kAccessFlushGlobal = static_cast<int>(Access::flush_global);

constexpr int kMeaninglessAccess = IBV_ACCESS_RELAXED_ORDERING | IBV_ACCESS_HUGETLB;
constexpr int kKnownAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                             IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | kAccessFlushGlobal |
                             kMeaninglessAccess;
constexpr int kKnownRereg =
    IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;

Status check_memory(const void* addr, size_t length) {
  if (addr == nullptr || length == 0) {
    return failure(EINVAL, "a memory region needs an address and at least one byte; give both");
  }
  return {};
}

Status check_access(int access) {
  if ((access & IBV_ACCESS_ON_DEMAND) != 0) {
    return failure(EOPNOTSUPP,
                   "on-demand paging is not supported; leave IBV_ACCESS_ON_DEMAND out (memory is "
                   "never pinned here, so nothing is lost)");
  }
  if ((access & ~kKnownAccess) != 0) {
    return failure(EINVAL, "access flags " + std::to_string(access & ~kKnownAccess) +
                               " are not known; see ibv_reg_mr");
  }
  if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 &&
      (access & IBV_ACCESS_LOCAL_WRITE) == 0) {
    return failure(EINVAL,
                   "remote write or atomic access needs local write access as well; add "
                   "IBV_ACCESS_LOCAL_WRITE");
  }
  return {};
}

Access to_access(int access) {
  return static_cast<Access>(access & ~kMeaninglessAccess);
}

void place(MemoryRegion& region, void* addr, size_t length, std::optional<uint64_t> iova) {
  const bool zero_based = allows(region.access, Access::zero_based);
  region.va = iova ? *iova : zero_based ? 0 : reinterpret_cast<uint64_t>(addr);
  region.length = length;
  region.host = static_cast<uint8_t*>(addr);
}

}  // namespace

uint32_t Pd::handle() const {
  return state_->handle;
}

Result<Pd> Device::alloc_pd() {
  if (const Status s = state_->pds.take(); !s) {
    return tl::make_unexpected(s.error());
  }
  return Pd(std::make_shared<detail::PdState>(state_));
}

Mr::Mr(std::unique_ptr<detail::MrState> state) : state_(std::move(state)) {}
Mr::Mr(Mr&&) noexcept = default;
Mr& Mr::operator=(Mr&&) noexcept = default;
Mr::~Mr() = default;
uint32_t Mr::lkey() const {
  return state_->ibv.lkey;
}
uint32_t Mr::rkey() const {
  return state_->ibv.rkey;
}
void* Mr::addr() const {
  return state_->ibv.addr;
}
size_t Mr::length() const {
  return state_->ibv.length;
}
ibv_mr* Mr::ibv() const {
  return &state_->ibv;
}

Result<Mr> Device::reg_mr(const Pd& pd, void* addr, size_t length, int access,
                          std::optional<uint64_t> iova) {
  for (const Status& s : {check_memory(addr, length), check_access(access)}) {
    if (!s) {
      return tl::make_unexpected(s.error());
    }
  }
  auto state = std::make_unique<detail::MrState>();
  state->pd = pd.state();
  state->region.pd = pd.handle();
  state->region.access = to_access(access);
  place(state->region, addr, length, iova);
  Result<uint32_t> key = 0u;
  state_->driver.run([&] { key = state_->engine.regions().add(state->region); });
  if (!key) {
    state->registered = false;
    return tl::make_unexpected(key.error());
  }
  state->ibv.addr = addr;
  state->ibv.length = length;
  state->ibv.lkey = state->ibv.rkey = state->ibv.handle = *key;
  state_->objects.add_key(*key);
  return Mr(std::move(state));
}

Status Mr::deregister() {
  detail::DeviceState& device = *state_->pd->device;
  Status removed;
  device.driver.run([&] { removed = device.engine.regions().remove(state_->ibv.lkey); });
  state_->registered = state_->registered && !removed;
  return removed;
}

Status Mr::reregister(int flags, const Pd* pd, void* addr, size_t length, int access) {
  if (flags == 0 || (flags & ~kKnownRereg) != 0) {
    return failure(EINVAL, "re-registration flags " + std::to_string(flags) +
                               "; use some of IBV_REREG_MR_CHANGE_TRANSLATION, _PD, _ACCESS");
  }
  MemoryRegion region = state_->region;
  if ((flags & IBV_REREG_MR_CHANGE_ACCESS) != 0) {
    if (Status s = check_access(access); !s) {
      return s;
    }
    region.access = to_access(access);
  }
  if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
    if (Status s = check_memory(addr, length); !s) {
      return s;
    }
    place(region, addr, length, {});
  }
  if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) {
    if (pd == nullptr) {
      return failure(EINVAL,
                     "IBV_REREG_MR_CHANGE_PD needs a protection domain; give one of this device");
    }
    region.pd = pd->handle();
  }
  detail::DeviceState& device = *state_->pd->device;
  Status replaced;
  device.driver.run([&] { replaced = device.engine.regions().replace(state_->ibv.lkey, region); });
  if (!replaced) {
    return replaced;
  }
  state_->region = region;
  state_->ibv.addr = region.host;
  state_->ibv.length = region.length;
  if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) {
    state_->pd = pd->state();
  }
  return {};
}

Mw::Mw(std::unique_ptr<detail::MwState> state) : state_(std::move(state)) {}
Mw::Mw(Mw&&) noexcept = default;
Mw& Mw::operator=(Mw&&) noexcept = default;
Mw::~Mw() = default;
uint32_t Mw::rkey() const {
  return state_->ibv.rkey;
}
ibv_mw* Mw::ibv() const {
  return &state_->ibv;
}

Result<Mw> Device::alloc_mw(const Pd& pd, ibv_mw_type type) {
  if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) {
    return failure(EINVAL, "memory window type " + std::to_string(type) +
                               "; use IBV_MW_TYPE_1 (1) or IBV_MW_TYPE_2 (2)");
  }
  MemoryRegion window;
  window.kind = type == IBV_MW_TYPE_1 ? RegionKind::window_1 : RegionKind::window_2;
  window.pd = pd.handle();
  Result<uint32_t> key = 0u;
  state_->driver.run([&] { key = state_->engine.regions().add(window); });
  if (!key) {
    return tl::make_unexpected(key.error());
  }
  auto state = std::make_unique<detail::MwState>();
  state->pd = pd.state();
  state->ibv.rkey = state->ibv.handle = *key;
  state->ibv.type = type;
  return Mw(std::move(state));
}

namespace detail {

/// Goes whatever happens: windows that are bound to it lose their memory with it.
MrState::~MrState() {
  pd->device->objects.remove_key(ibv.lkey);
  if (registered) {
    pd->device->driver.run([this] { pd->device->engine.regions().remove_region(ibv.lkey); });
  }
}

MwState::~MwState() {
  pd->device->driver.run([this] { (void)pd->device->engine.regions().remove(ibv.rkey); });
}

}  // namespace detail

}  // namespace roce::verbs
