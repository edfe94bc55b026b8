// Queue pairs of a kernel device.
// SPDX-License-Identifier: BSD-3-Clause
#include "ibv_end.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
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

struct LocalAddress {
  int gid_index;
  Gid gid;
  uint32_t interface;
};

/// The first RoCE v2 GID of the family that is not link-local, of the network interface if one is
/// named.
Result<LocalAddress> find_gid(ibv_context* context, uint32_t family, const std::string& interface) {
  const uint32_t wanted = if_nametoindex(interface.c_str());
  if (!interface.empty() && wanted == 0) {
    return roce::failure(ENODEV, fmt::format("there is no network interface '{}'", interface));
  }
  std::array<ibv_gid_entry, kMaxGids> entries{};
  const ssize_t count = ibv_query_gid_table(context, entries.data(), entries.size(), 0);
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = entries[static_cast<size_t>(i)];
    Gid gid;
    std::memcpy(gid.bytes.data(), entry.gid.raw, sizeof entry.gid.raw);
    if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 && gid.is_ipv4() == (family == 4) &&
        !gid.ipv6().is_link_local() && (wanted == 0 || entry.ndev_ifindex == wanted)) {
      return LocalAddress{static_cast<int>(entry.gid_index), gid, entry.ndev_ifindex};
    }
  }
  return roce::failure(ENOENT, fmt::format("{} has no RoCE v2 GID of an IPv{} address; give its "
                                           "network interface one",
                                           ibv_get_device_name(context->device), family));
}

/// Joins the group as a plain socket does; -1 with errno set, else the socket. Soft-RoCE up to some
/// kernel joins with the NIC only, and the IP layer then drops what comes for the group.
int join_with_ip(uint32_t family, uint32_t interface) {
  const bool v4 = family == 4;
  const ibv_gid group = group_of(family);
  group_req request{};
  request.gr_interface = interface;
  if (v4) {
    auto* const address = reinterpret_cast<sockaddr_in*>(&request.gr_group);
    address->sin_family = AF_INET;
    std::memcpy(&address->sin_addr, group.raw + 12, sizeof address->sin_addr);
  } else {
    auto* const address = reinterpret_cast<sockaddr_in6*>(&request.gr_group);
    address->sin6_family = AF_INET6;
    std::memcpy(&address->sin6_addr, group.raw, sizeof address->sin6_addr);
  }
  const int fd = ::socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && setsockopt(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, MCAST_JOIN_GROUP, &request,
                            sizeof request) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

class IbvEnd final : public End {
 public:
  IbvEnd(ibv_context* context, const std::string& interface, const QpSetup& setup)
      : context_(context), interface_(interface), setup_(setup) {}
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
  ibv_ah* address_handle() override { return ah_; }
  Result<ibv_mw*> make_window() override;
  ibv_mr* region() override { return mr_; }
  void destroy_qp() override;

 private:
  Status make_objects();
  Status make_datagram_ways(const app::EndAddress& peer);

  ibv_context* const context_;
  const std::string interface_;
  const QpSetup setup_;
  LocalAddress local_{};
  int group_socket_ = -1;
  HostMemory memory_;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_mw* window_ = nullptr;
  ibv_srq* srq_ = nullptr;
  ibv_qp* qp_ = nullptr;
  ibv_ah* ah_ = nullptr;
};

IbvEnd::~IbvEnd() {
  if (group_socket_ >= 0) {
    ::close(group_socket_);
  }
  if (ah_ != nullptr) {
    ibv_destroy_ah(ah_);
  }
  destroy_qp();
  if (srq_ != nullptr) {
    ibv_destroy_srq(srq_);
  }
  if (window_ != nullptr) {
    ibv_dealloc_mw(window_);
  }
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
  if (setup_.srq) {
    ibv_srq_init_attr wanted{};
    wanted.attr = {.max_wr = kQueueDepth, .max_sge = 1, .srq_limit = 0};
    srq_ = ibv_create_srq(pd_, &wanted);
    if (srq_ == nullptr) {
      return refused("ibv_create_srq", errno);
    }
  }
  ibv_qp_init_attr init = init_attributes_of(setup_);
  init.send_cq = cq_;
  init.recv_cq = cq_;
  init.srq = srq_;
  qp_ = ibv_create_qp(pd_, &init);
  return qp_ == nullptr ? refused("ibv_create_qp", errno) : Status{};
}

Status IbvEnd::prepare() {
  const auto gid = find_gid(context_, setup_.family, interface_);
  if (!gid) {
    return tl::make_unexpected(gid.error());
  }
  local_ = *gid;
  auto memory = HostMemory::allocate(kMemory);
  if (!memory) {
    return tl::make_unexpected(memory.error());
  }
  memory_ = std::move(*memory);
  if (auto done = make_objects(); !done) {
    return done;
  }
  ibv_qp_attr attr{};
  const int mask = init_attributes(setup_, attr);
  const int rc = ibv_modify_qp(qp_, &attr, mask);
  return rc == 0 ? Status{} : refused("ibv_modify_qp to INIT", rc);
}

app::EndAddress IbvEnd::address() const {
  return {.gid = local_.gid,
          .qps = {{.qpn = qp_->qp_num,
                   .psn = setup_.psn,
                   .rkey = mr_->rkey,
                   .va = reinterpret_cast<uint64_t>(memory_.data()),
                   .length = memory_.size()}}};
}

Status IbvEnd::connect(const app::EndAddress& peer) {
  ibv_qp_attr attr{};
  int mask = rtr_attributes(setup_, peer, local_.gid_index, attr);
  if (const int rc = ibv_modify_qp(qp_, &attr, mask); rc != 0) {
    return refused("ibv_modify_qp to RTR", rc);
  }
  mask = rts_attributes(setup_, attr);
  if (const int rc = ibv_modify_qp(qp_, &attr, mask); rc != 0) {
    return refused("ibv_modify_qp to RTS", rc);
  }
  return setup_.type == IBV_QPT_UD ? make_datagram_ways(peer) : Status{};
}

Status IbvEnd::make_datagram_ways(const app::EndAddress& peer) {
  ibv_ah_attr way = way_to(setup_, peer.gid, local_.gid_index);
  ah_ = ibv_create_ah(pd_, &way);
  if (ah_ == nullptr) {
    return refused("ibv_create_ah", errno);
  }
  if (!setup_.joins_group) {
    return {};
  }
  group_socket_ = join_with_ip(setup_.family, local_.interface);
  if (group_socket_ < 0) {
    return refused("joining the group", errno);
  }
  const ibv_gid group = group_of(setup_.family);
  const int rc = ibv_attach_mcast(qp_, &group, 0);
  return rc == 0 ? Status{} : refused("ibv_attach_mcast", rc);
}

Result<ibv_mw*> IbvEnd::make_window() {
  window_ = ibv_alloc_mw(pd_, IBV_MW_TYPE_2);
  if (window_ == nullptr) {
    return tl::make_unexpected(refused("ibv_alloc_mw", errno).error());
  }
  return window_;
}

int IbvEnd::post_send(ibv_send_wr* wr) {
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(qp_, wr, &bad);
}

int IbvEnd::post_receive(ibv_recv_wr* wr) {
  ibv_recv_wr* bad = nullptr;
  return srq_ != nullptr ? ibv_post_srq_recv(srq_, wr, &bad) : ibv_post_recv(qp_, wr, &bad);
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

Result<std::unique_ptr<IbvOpener>> IbvOpener::create(const std::string& device_name,
                                                     const std::string& interface) {
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
  return std::unique_ptr<IbvOpener>(new IbvOpener(context, interface));
}

IbvOpener::~IbvOpener() {
  ibv_close_device(context_);
}

Result<std::unique_ptr<End>> IbvOpener::open(const QpSetup& setup) {
  auto end = std::make_unique<IbvEnd>(context_, interface_, setup);
  if (auto done = end->prepare(); !done) {
    return tl::make_unexpected(done.error());
  }
  return end;
}

void IbvOpener::progress() {
  std::this_thread::sleep_for(kNap);
}

}  // namespace uroce::rxe
