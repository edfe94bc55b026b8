// Protection domains, memory regions and completion queues.
// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <utility>

#include <roce/verbs.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "objects.h"

namespace roce::verbs {
namespace {

constexpr int kKnownAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                             IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
                             IBV_ACCESS_RELAXED_ORDERING;

ibv_wc to_wc(const Cqe& cqe) {
  ibv_wc wc{};
  wc.wr_id = cqe.wr_id;
  wc.status = static_cast<ibv_wc_status>(cqe.status);
  wc.opcode = static_cast<ibv_wc_opcode>(cqe.opcode);
  wc.vendor_err = cqe.vendor_error;
  wc.byte_len = cqe.byte_len;
  if ((cqe.flags & kCqeWithInvalidate) != 0) {
    wc.invalidated_rkey = cqe.imm_or_rkey;
  } else {
    wc.imm_data = byteswap(cqe.imm_or_rkey);
  }
  wc.qp_num = cqe.qpn;
  wc.src_qp = cqe.src_qp;
  wc.wc_flags = cqe.flags;
  wc.sl = cqe.sl;
  return wc;
}

}  // namespace

uint32_t Pd::handle() const {
  return state_->handle;
}

Result<Pd> Device::alloc_pd() {
  if (state_->pd_count >= state_->tables.max_pd) {
    return failure(ENOMEM, "all " + std::to_string(state_->tables.max_pd) +
                               " protection domains are in use; let go of some");
  }
  return Pd(std::make_shared<detail::PdState>(state_));
}

Mr::Mr(std::unique_ptr<detail::MrState> state) : state_(std::move(state)) {}
Mr::Mr(Mr&&) noexcept = default;
Mr& Mr::operator=(Mr&&) noexcept = default;
Mr::~Mr() = default;
uint32_t Mr::lkey() const {
  return state_->key;
}
uint32_t Mr::rkey() const {
  return state_->key;
}
void* Mr::addr() const {
  return state_->addr;
}
size_t Mr::length() const {
  return state_->length;
}

Result<Mr> Device::reg_mr(const Pd& pd, void* addr, size_t length, int access) {
  if (addr == nullptr || length == 0) {
    return failure(EINVAL, "a memory region needs an address and at least one byte");
  }
  if ((access & ~kKnownAccess) != 0) {
    return failure(EINVAL, "access flags " + std::to_string(access & ~kKnownAccess) +
                               " are not known; see ibv_reg_mr");
  }
  if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 &&
      (access & IBV_ACCESS_LOCAL_WRITE) == 0) {
    return failure(EINVAL, "remote write or atomic access needs local write access as well");
  }
  MemoryRegion region;
  region.va = (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : reinterpret_cast<uint64_t>(addr);
  region.length = length;
  region.host = static_cast<uint8_t*>(addr);
  region.pd = pd.handle();
  region.access = static_cast<Access>(access & ~IBV_ACCESS_RELAXED_ORDERING);
  Result<uint32_t> key = 0u;
  state_->driver.run([&] { key = state_->engine.regions().add(region); });
  if (!key) {
    return tl::make_unexpected(key.error());
  }
  auto state = std::make_unique<detail::MrState>();
  state->pd = pd.state();
  state->addr = addr;
  state->length = length;
  state->key = *key;
  return Mr(std::move(state));
}

Result<Cq> Device::create_cq(int entries) {
  if (entries < 1 || static_cast<uint32_t>(entries) > kMaxCqe) {
    return failure(EINVAL, "a completion queue of " + std::to_string(entries) +
                               " entries; allowed are 1.." + std::to_string(kMaxCqe));
  }
  if (state_->cq_count >= state_->tables.max_cq) {
    return failure(ENOMEM, "all " + std::to_string(state_->tables.max_cq) +
                               " completion queues are in use; let go of some");
  }
  return Cq(std::make_shared<detail::CqState>(state_, static_cast<uint32_t>(entries)));
}

int Cq::poll(std::span<ibv_wc> out) {
  ibv_wc* to = out.data();
  const size_t taken =
      state_->queue.poll(out.size(), [&to](const Cqe& cqe) { *to++ = to_wc(cqe); });
  return taken == 0 && state_->queue.overrun() ? -EOVERFLOW : static_cast<int>(taken);
}

int Cq::capacity() const {
  return static_cast<int>(state_->queue.capacity());
}

}  // namespace roce::verbs
