// Queue pairs of uroce.
// SPDX-License-Identifier: BSD-3-Clause
#include "uroce_end.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <roce/counters.h>

#include "common/run/host_memory.h"

namespace uroce::rxe {
namespace {

namespace verbs = roce::verbs;
using app::Gid;
using app::HostMemory;
using roce::Result;
using roce::Status;

constexpr int kPollsARound = 16;
constexpr std::chrono::microseconds kNap{50};

/// The first address of the family that is not link-local.
Result<std::pair<int, Gid>> find_gid(const verbs::Device& device, uint32_t family) {
  for (int index = 0;; ++index) {
    const auto raw = device.query_gid(kPort, index);
    if (!raw) {
      return roce::failure(ENOENT, fmt::format("the device has no IPv{} address; set address.ipv{}",
                                               family, family));
    }
    Gid gid;
    std::memcpy(gid.bytes.data(), raw->raw, sizeof raw->raw);
    if (gid.is_ipv4() == (family == 4) && !gid.ipv6().is_link_local()) {
      return std::pair(index, gid);
    }
  }
}

/// Some rounds of the device; then, if no packet came, a nap: the emulated machine at the other end
/// of the wire needs CPUs as well.
void drive(roce::Endpoint& endpoint) {
  const uint64_t before = endpoint.device().counters().rcvd_packets;
  for (int i = 0; i < kPollsARound; ++i) {
    endpoint.poll();
  }
  if (endpoint.device().counters().rcvd_packets == before) {
    std::this_thread::sleep_for(kNap);
  }
}

class UroceEnd final : public End {
 public:
  UroceEnd(roce::Endpoint& endpoint, const QpSetup& setup) : endpoint_(endpoint), setup_(setup) {}

  Status prepare();

  std::span<uint8_t> memory() override { return memory_.bytes(); }
  uint32_t lkey() const override { return mr_->lkey(); }
  app::EndAddress address() const override;
  Status connect(const app::EndAddress& peer) override;
  int post_send(ibv_send_wr* wr) override;
  int post_receive(ibv_recv_wr* wr) override;
  int poll(ibv_wc& wc) override;
  ibv_qp_state state() override { return qp_->query().qp_state; }
  ibv_ah* address_handle() override { return ah_->ibv(); }
  Result<ibv_mw*> make_window() override;
  ibv_mr* region() override { return mr_->ibv(); }
  void destroy_qp() override { qp_.reset(); }

 private:
  Status make_objects();

  roce::Endpoint& endpoint_;
  const QpSetup setup_;
  int gid_index_ = 0;
  Gid gid_;
  HostMemory memory_;
  std::optional<verbs::Pd> pd_;
  std::optional<verbs::Cq> cq_;
  std::optional<verbs::Mr> mr_;
  std::optional<verbs::Mw> window_;
  std::optional<verbs::Srq> srq_;
  std::optional<verbs::Qp> qp_;
  std::optional<verbs::Ah> ah_;
};

/// Moves what a set-up call made into its place.
template <class T>
Status take(Result<T> made, std::optional<T>& place) {
  if (!made) {
    return tl::make_unexpected(made.error());
  }
  place.emplace(std::move(*made));
  return {};
}

Status UroceEnd::make_objects() {
  verbs::Device& device = endpoint_.device();
  Status done = take(device.alloc_pd(), pd_);
  if (done) {
    done = take(device.create_cq(static_cast<int>(2 * kQueueDepth)), cq_);
  }
  if (done) {
    done = take(device.reg_mr(*pd_, memory_.data(), memory_.size(), setup_.mr_access), mr_);
  }
  if (done && setup_.srq) {
    done =
        take(device.create_srq(*pd_, {.max_wr = kQueueDepth, .max_sge = 1, .srq_limit = 0}), srq_);
  }
  if (done) {
    done = take(
        device.create_qp(*pd_, *cq_, *cq_, init_attributes_of(setup_), srq_ ? &*srq_ : nullptr),
        qp_);
  }
  return done;
}

Status UroceEnd::prepare() {
  const auto gid = find_gid(endpoint_.device(), setup_.family);
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
  ibv_qp_attr attr{};
  const int mask = init_attributes(setup_, attr);
  return qp_->modify(attr, mask);
}

app::EndAddress UroceEnd::address() const {
  return {.gid = gid_,
          .qps = {{.qpn = qp_->qpn(),
                   .psn = setup_.psn,
                   .rkey = mr_->rkey(),
                   .va = reinterpret_cast<uint64_t>(memory_.data()),
                   .length = memory_.size()}}};
}

Status UroceEnd::connect(const app::EndAddress& peer) {
  ibv_qp_attr attr{};
  int mask = rtr_attributes(setup_, peer, gid_index_, attr);
  if (auto done = qp_->modify(attr, mask); !done) {
    return done;
  }
  mask = rts_attributes(setup_, attr);
  Status done = qp_->modify(attr, mask);
  if (done && setup_.type == IBV_QPT_UD) {
    done = take(endpoint_.device().create_ah(*pd_, way_to(setup_, peer.gid, gid_index_)), ah_);
  }
  if (done && setup_.joins_group) {
    done = qp_->attach_mcast(group_of(setup_.family));
  }
  return done;
}

Result<ibv_mw*> UroceEnd::make_window() {
  if (auto done = take(endpoint_.device().alloc_mw(*pd_, IBV_MW_TYPE_2), window_); !done) {
    return tl::make_unexpected(done.error());
  }
  return window_->ibv();
}

int UroceEnd::post_send(ibv_send_wr* wr) {
  ibv_send_wr* bad = nullptr;
  return qp_->post_send(wr, &bad);
}

int UroceEnd::post_receive(ibv_recv_wr* wr) {
  ibv_recv_wr* bad = nullptr;
  return srq_ ? srq_->post_recv(wr, &bad) : qp_->post_recv(wr, &bad);
}

int UroceEnd::poll(ibv_wc& wc) {
  const int got = cq_->poll({&wc, 1});
  if (got == 0) {
    drive(endpoint_);
  }
  return got;
}

}  // namespace

Result<std::unique_ptr<End>> UroceOpener::open(const QpSetup& setup) {
  auto end = std::make_unique<UroceEnd>(endpoint_, setup);
  if (auto done = end->prepare(); !done) {
    return tl::make_unexpected(done.error());
  }
  return end;
}

void UroceOpener::progress() {
  drive(endpoint_);
}

}  // namespace uroce::rxe
