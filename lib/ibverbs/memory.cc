// Protection domains, memory regions, memory windows. The ibv_mr and ibv_mw that a program gets are
// the native ones, so that work requests can name them.
// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <unordered_map>

#include "objects.h"

namespace roce::ibv {
namespace {

/// Native objects by the C struct that programs hold.
template <class Theirs, class Ours>
class Keeper {
 public:
  Theirs* keep(Ours object) {
    Theirs* const key = object.ibv();
    const std::lock_guard lock(mutex_);
    objects_.emplace(key, std::move(object));
    return key;
  }
  Ours* find(Theirs* key) {
    const std::lock_guard lock(mutex_);
    const auto at = objects_.find(key);
    return at == objects_.end() ? nullptr : &at->second;
  }
  void drop(Theirs* key) {
    std::unique_lock lock(mutex_);
    const auto node = objects_.extract(key);
    lock.unlock();  // the object's end is a call on the engine
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Theirs*, Ours> objects_;
};

// Never destroyed: a program may leave objects behind when it ends.
auto& regions = *new Keeper<ibv_mr, verbs::Mr>;
auto& windows = *new Keeper<ibv_mw, verbs::Mw>;
auto& handles = *new Keeper<ibv_ah, verbs::Ah>;

ibv_mr* register_region(ibv_pd* pd, void* addr, size_t length, std::optional<uint64_t> iova,
                        int access) {
  Pd& ours = from<Pd>(pd);
  auto made = Process::get().verbs().reg_mr(ours.native, addr, length, access, iova);
  if (!made) {
    return fail_with(made.error().code);
  }
  ++ours.users;
  ibv_mr* const mr = regions.keep(std::move(*made));
  mr->context = pd->context;
  mr->pd = pd;
  return mr;
}

}  // namespace

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  Pd& ours = from<Pd>(pd);
  auto made = Process::get().verbs().alloc_mw(ours.native, type);
  if (!made) {
    return fail_with(made.error().code);
  }
  ++ours.users;
  ibv_mw* const mw = windows.keep(std::move(*made));
  mw->context = pd->context;
  mw->pd = pd;
  return mw;
}

int dealloc_mw(ibv_mw* mw) {
  --from<Pd>(mw->pd).users;
  windows.drop(mw);
  return 0;
}

int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  Qp& ours = from<Qp>(qp);
  const std::lock_guard lock(ours.send_lock);
  return ours.native->bind_mw(*windows.find(mw), *bind);
}

}  // namespace roce::ibv

using namespace roce::ibv;

UROCE_PUBLIC ibv_pd* ibv_alloc_pd(ibv_context* context) {
  UROCE_PASS_ON(context, ibv_alloc_pd, context);
  auto made = Process::get().verbs().alloc_pd();
  if (!made) {
    return fail_with(made.error().code);
  }
  auto* const pd = new Pd(std::move(*made));
  pd->ibv.context = context;
  pd->ibv.handle = pd->native.handle();
  return &pd->ibv;
}

UROCE_PUBLIC int ibv_dealloc_pd(ibv_pd* pd) {
  UROCE_PASS_ON(pd->context, ibv_dealloc_pd, pd);
  Pd& ours = from<Pd>(pd);
  if (ours.users != 0) {
    return EBUSY;
  }
  delete &ours;
  return 0;
}

UROCE_PUBLIC void ibv_unimport_pd(ibv_pd* pd) {
  if (!is_ours(pd->context)) {
    pass_on(&ibv_unimport_pd, "ibv_unimport_pd", pd);
  }
}

#undef ibv_reg_mr
UROCE_PUBLIC ibv_mr* ibv_reg_mr(ibv_pd* pd, void* addr, size_t length, int access) {
  UROCE_PASS_ON(pd->context, ibv_reg_mr, pd, addr, length, access);
  return register_region(pd, addr, length, {}, access);
}

#undef ibv_reg_mr_iova
UROCE_PUBLIC ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* addr, size_t length, uint64_t iova,
                                     int access) {
  UROCE_PASS_ON(pd->context, ibv_reg_mr_iova, pd, addr, length, iova, access);
  return register_region(pd, addr, length, iova, access);
}

UROCE_PUBLIC ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* addr, size_t length, uint64_t iova,
                                      unsigned access) {
  UROCE_PASS_ON(pd->context, ibv_reg_mr_iova2, pd, addr, length, iova, access);
  // ibv_reg_mr() comes here, too, with the address for iova.
  const bool chosen = iova != reinterpret_cast<uint64_t>(addr);
  return register_region(pd, addr, length, chosen ? std::optional(iova) : std::nullopt,
                         static_cast<int>(access));
}

UROCE_PUBLIC int ibv_dereg_mr(ibv_mr* mr) {
  UROCE_PASS_ON(mr->context, ibv_dereg_mr, mr);
  if (const roce::Status s = regions.find(mr)->deregister(); !s) {
    return result_of(s);
  }
  --from<Pd>(mr->pd).users;
  regions.drop(mr);
  return 0;
}

UROCE_PUBLIC int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* addr, size_t length,
                              int access) {
  UROCE_PASS_ON(mr->context, ibv_rereg_mr, mr, flags, pd, addr, length, access);
  const bool moves = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  const roce::verbs::Pd* const native = moves && pd != nullptr ? &from<Pd>(pd).native : nullptr;
  const roce::Status s = regions.find(mr)->reregister(flags, native, addr, length, access);
  if (!s) {
    errno = s.error().code;
    return IBV_REREG_MR_ERR_INPUT;
  }
  if (moves) {
    --from<Pd>(mr->pd).users;
    ++from<Pd>(pd).users;
    mr->pd = pd;
  }
  return 0;
}

UROCE_PUBLIC ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  UROCE_PASS_ON(pd->context, ibv_create_ah, pd, attr);
  Pd& ours = from<Pd>(pd);
  auto made = Process::get().verbs().create_ah(ours.native, plain(*attr));
  if (!made) {
    return fail_with(made.error().code);
  }
  ++ours.users;
  ibv_ah* const ah = handles.keep(std::move(*made));
  ah->context = pd->context;
  ah->pd = pd;
  return ah;
}

UROCE_PUBLIC int ibv_destroy_ah(ibv_ah* ah) {
  UROCE_PASS_ON(ah->context, ibv_destroy_ah, ah);
  --from<Pd>(ah->pd).users;
  handles.drop(ah);
  return 0;
}

UROCE_PUBLIC int ibv_init_ah_from_wc(ibv_context* context, uint8_t port_num, ibv_wc* wc,
                                     ibv_grh* grh, ibv_ah_attr* attr) {
  UROCE_PASS_ON(context, ibv_init_ah_from_wc, context, port_num, wc, grh, attr);
  const auto made = Process::get().verbs().init_ah_from_wc(port_num, *wc, *grh);
  if (!made) {
    errno = made.error().code;
    return -1;
  }
  *attr = *made;
  return 0;
}

UROCE_PUBLIC ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, uint8_t port_num) {
  UROCE_PASS_ON(pd->context, ibv_create_ah_from_wc, pd, wc, grh, port_num);
  ibv_ah_attr attr{};
  if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr) != 0) {
    return nullptr;
  }
  return ibv_create_ah(pd, &attr);
}
