// Queue pairs of a kernel device.
// SPDX-License-Identifier: BSD-3-Clause
#include "ibv_end.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "common/run/host_memory.h"
#include "common/sockets.h"

namespace uroce::rxe {
namespace {

using app::Gid;
using app::HostMemory;
using roce::Result;
using roce::Status;

constexpr std::chrono::microseconds kNap{100};
constexpr size_t kMaxGids = 64;

Status refused(std::string_view call, int code) {
  return roce::failure(code, fmt::format("{}: {}", call, app::text_of_errno(code)));
}

/// The first RoCE v2 GID of the family that is not link-local.
Result<std::pair<int, Gid>> find_gid(ibv_context* context, uint32_t family) {
  std::array<ibv_gid_entry, kMaxGids> entries{};
  const ssize_t count = ibv_query_gid_table(context, entries.data(), entries.size(), 0);
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = entries[static_cast<size_t>(i)];
    Gid gid;
    std::memcpy(gid.bytes.data(), entry.gid.raw, sizeof entry.gid.raw);
    if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 && gid.is_ipv4() == (family == 4) &&
        !gid.ipv6().is_link_local()) {
      return std::pair(static_cast<int>(entry.gid_index), gid);
    }
  }
  return roce::failure(ENOENT, fmt::format("{} has no RoCE v2 GID of an IPv{} address; give its "
                                           "network interface one",
                                           ibv_get_device_name(context->device), family));
}

class IbvEnd final : public End {
 public:
  IbvEnd(ibv_context* context, const QpSetup& setup) : context_(context), setup_(setup) {}
  ~IbvEnd() override;
  IbvEnd(const IbvEnd&) = delete;
  IbvEnd& operator=(const IbvEnd&) = delete;

  Status prepare();

  std::span<uint8_t> memory() override { return memory_.bytes(); }
  uint32_t lkey() const override { return mr_->lkey; }
  app::EndAddress address() const override;
  Status connect(const app::EndAddress& peer) override;
  int post_send(ibv_send_wr* wr) override;
  int post_receive(ibv_recv_wr* wr) override;
  int poll(ibv_wc& wc) override;
  ibv_qp_state state() override;
  void destroy_qp() override;

 private:
  Status make_objects();

  ibv_context* const context_;
  const QpSetup setup_;
  int gid_index_ = 0;
  Gid gid_;
  HostMemory memory_;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_qp* qp_ = nullptr;
};

IbvEnd::~IbvEnd() {
  destroy_qp();
  if (mr_ != nullptr) {
    ibv_dereg_mr(mr_);
  }
  if (cq_ != nullptr) {
    ibv_destroy_cq(cq_);
  }
  if (pd_ != nullptr) {
    ibv_dealloc_pd(pd_);
  }
}

Status IbvEnd::make_objects() {
  pd_ = ibv_alloc_pd(context_);
  if (pd_ == nullptr) {
    return refused("ibv_alloc_pd", errno);
  }
  cq_ = ibv_create_cq(context_, static_cast<int>(2 * kQueueDepth), nullptr, nullptr, 0);
  if (cq_ == nullptr) {
    return refused("ibv_create_cq", errno);
  }
  mr_ = ibv_reg_mr(pd_, memory_.data(), memory_.size(), setup_.mr_access);
  if (mr_ == nullptr) {
    return refused("ibv_reg_mr", errno);
  }
  ibv_qp_init_attr init{};
  init.qp_type = IBV_QPT_RC;
  init.send_cq = cq_;
  init.recv_cq = cq_;
  init.cap = {.max_send_wr = kQueueDepth,
              .max_recv_wr = kQueueDepth,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  qp_ = ibv_create_qp(pd_, &init);
  return qp_ == nullptr ? refused("ibv_create_qp", errno) : Status{};
}

Status IbvEnd::prepare() {
  const auto gid = find_gid(context_, setup_.family);
  if (!gid) {
    return tl::make_unexpected(gid.error());
  }
  std::tie(gid_index_, gid_) = *gid;
  auto memory = HostMemory::allocate(kMemory);
  if (!memory) {
    return tl::make_unexpected(memory.error());
  }
  memory_ = std::move(*memory);
  if (auto done = make_objects(); !done) {
    return done;
  }
  ibv_qp_attr attr;
  const int mask = init_attributes(setup_, attr);
  const int rc = ibv_modify_qp(qp_, &attr, mask);
  return rc == 0 ? Status{} : refused("ibv_modify_qp to INIT", rc);
}

app::EndAddress IbvEnd::address() const {
  return {.gid = gid_,
          .qps = {{.qpn = qp_->qp_num,
                   .psn = setup_.psn,
                   .rkey = mr_->rkey,
                   .va = reinterpret_cast<uint64_t>(memory_.data()),
                   .length = memory_.size()}}};
}

Status IbvEnd::connect(const app::EndAddress& peer) {
  ibv_qp_attr attr;
  int mask = rtr_attributes(setup_, peer, gid_index_, attr);
  if (const int rc = ibv_modify_qp(qp_, &attr, mask); rc != 0) {
    return refused("ibv_modify_qp to RTR", rc);
  }
  mask = rts_attributes(setup_, attr);
  const int rc = ibv_modify_qp(qp_, &attr, mask);
  return rc == 0 ? Status{} : refused("ibv_modify_qp to RTS", rc);
}

int IbvEnd::post_send(ibv_send_wr* wr) {
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(qp_, wr, &bad);
}

int IbvEnd::post_receive(ibv_recv_wr* wr) {
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(qp_, wr, &bad);
}

int IbvEnd::poll(ibv_wc& wc) {
  const int got = ibv_poll_cq(cq_, 1, &wc);
  if (got == 0) {
    std::this_thread::sleep_for(kNap);
  }
  return got;
}

ibv_qp_state IbvEnd::state() {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  return ibv_query_qp(qp_, &attr, IBV_QP_STATE, &init) == 0 ? attr.qp_state : IBV_QPS_UNKNOWN;
}

void IbvEnd::destroy_qp() {
  if (qp_ != nullptr) {
    ibv_destroy_qp(qp_);
    qp_ = nullptr;
  }
}

}  // namespace

Result<std::unique_ptr<IbvOpener>> IbvOpener::create(const std::string& device_name) {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  ibv_context* context = nullptr;
  for (int i = 0; i < count && context == nullptr; ++i) {
    if (device_name.empty() || device_name == ibv_get_device_name(list[i])) {
      context = ibv_open_device(list[i]);
    }
  }
  if (list != nullptr) {
    ibv_free_device_list(list);
  }
  if (context == nullptr) {
    return roce::failure(
        ENODEV,
        device_name.empty()
            ? "there is no RDMA device; for Soft-RoCE: rdma link add rxe0 type rxe netdev X"
            : fmt::format("there is no RDMA device '{}'; ibv_devices lists them", device_name));
  }
  return std::unique_ptr<IbvOpener>(new IbvOpener(context));
}

IbvOpener::~IbvOpener() {
  ibv_close_device(context_);
}

Result<std::unique_ptr<End>> IbvOpener::open(const QpSetup& setup) {
  auto end = std::make_unique<IbvEnd>(context_, setup);
  if (auto done = end->prepare(); !done) {
    return tl::make_unexpected(done.error());
  }
  return end;
}

void IbvOpener::progress() {
  std::this_thread::sleep_for(kNap);
}

}  // namespace uroce::rxe
