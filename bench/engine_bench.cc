// Two whole devices on a loopback link in one thread: what a message costs on both sides together,
// with no device driver, no second core and no wire between them. Buffers cross by pointer.
//
// An item is one message. The counter s/message/side is the time of one message on one of the two
// sides, posting and polling of completions included. Time stands still but for a step a reading,
// so that no clock is read: that costs an engine about 20 ns a poll on top.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <roce/verbs.h>

#include "base/check.h"
#include "engine/engine.h"
#include "port/loopback_port.h"

namespace {

namespace verbs = roce::verbs;
using roce::Gid;
using roce::Status;

constexpr uint8_t kPort = 1;
constexpr uint32_t kQueueDepth = 1024;
constexpr uint8_t kReads = 16;
constexpr uint32_t kLargest = 1u << 20;
constexpr uint64_t kMostPolls = 100'000;  // of both sides, for one burst

class CountingClock final : public verbs::Clock {
 public:
  roce::Instant now() override { return now_ = now_ + roce::Duration::from_ns(100); }

 private:
  roce::Instant now_{1'000'000'000};
};

Gid address_of(size_t side) {
  return Gid::from(roce::Ipv4Address{{192, 0, 2, static_cast<uint8_t>(side + 1)}});
}

/// One side: device, queue pair, memory.
struct Side {
  Side(roce::LoopbackLink& link, verbs::Clock& clock, size_t side) : memory(kLargest, 0x5a) {
    roce::Port& port = side == 0 ? link.a() : link.b();
    roce::Port& other = side == 0 ? link.b() : link.a();
    roce::EngineConfig config;
    config.tables = {.max_qp = 16, .max_mr = 16};
    config.addresses.mac = port.info().mac;
    ROCE_CHECK(config.addresses.add(address_of(side), 24).has_value());
    config.static_neighbours.emplace_back(address_of(1 - side), other.info().mac);
    auto created = verbs::Device::create(port, clock, config, {});
    ROCE_CHECK(created.has_value());
    device = std::move(*created);
    pd.emplace(*device->alloc_pd());
    cq.emplace(*device->create_cq(2 * kQueueDepth));
    ibv_qp_init_attr init{};
    init.qp_type = IBV_QPT_RC;
    init.cap = {.max_send_wr = kQueueDepth,
                .max_recv_wr = kQueueDepth,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    qp.emplace(*device->create_qp(*pd, *cq, *cq, init));
    mr.emplace(
        *device->reg_mr(*pd, memory.data(), memory.size(),
                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE));
  }

  void connect_to(const Side& peer, size_t peer_side) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = kPort;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    Status s =
        qp->modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    ROCE_CHECK(s.has_value());
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_4096;
    attr.dest_qp_num = peer.qp->qpn();
    attr.max_dest_rd_atomic = attr.max_rd_atomic = kReads;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = kPort;
    attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(device->default_gid_index());
    const Gid gid = address_of(peer_side);
    std::memcpy(attr.ah_attr.grh.dgid.raw, gid.bytes.data(), gid.bytes.size());
    s = qp->modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    ROCE_CHECK(s.has_value());
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 14;
    attr.retry_cnt = attr.rnr_retry = 7;
    s = qp->modify(attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    ROCE_CHECK(s.has_value());
  }

  std::vector<uint8_t> memory;
  std::unique_ptr<verbs::Device> device;
  std::optional<verbs::Pd> pd;
  std::optional<verbs::Cq> cq;
  std::optional<verbs::Qp> qp;
  std::optional<verbs::Mr> mr;
};

/// A burst of equal messages from side 0 to side 1, posted and completed again and again.
class Bursts {
 public:
  Bursts(ibv_wr_opcode opcode, uint32_t size, uint32_t count)
      : link_({.mtu = 4200, .buffers = 1024, .queue = 512}),
        sides_{Side(link_, clock_, 0), Side(link_, clock_, 1)},
        receives_(opcode == IBV_WR_SEND ? count : 0),
        send_list_(count),
        recv_list_(count) {
    sides_[0].connect_to(sides_[1], 1);
    sides_[1].connect_to(sides_[0], 0);
    for (size_t i = 0; i < 2; ++i) {
      sges_[i] = {reinterpret_cast<uint64_t>(sides_[i].memory.data()), size, sides_[i].mr->lkey()};
    }
    for (uint32_t i = 0; i < count; ++i) {
      const bool last = i + 1 == count;
      ibv_send_wr& wr = send_list_[i];
      wr = {};
      wr.next = last ? nullptr : &send_list_[i + 1];
      wr.sg_list = &sges_[0];
      wr.num_sge = 1;
      wr.opcode = opcode;
      wr.send_flags = last ? IBV_SEND_SIGNALED : 0;
      wr.wr.rdma.remote_addr = sges_[1].addr;
      wr.wr.rdma.rkey = sides_[1].mr->rkey();
      recv_list_[i] = {.wr_id = i,
                       .next = last ? nullptr : &recv_list_[i + 1],
                       .sg_list = &sges_[1],
                       .num_sge = 1};
    }
  }

  /// One burst, there and acknowledged. False when it fails or does not end.
  bool run() {
    ibv_recv_wr* bad_recv = nullptr;
    if (receives_ != 0 && sides_[1].qp->post_recv(recv_list_.data(), &bad_recv) != 0) {
      return false;
    }
    ibv_send_wr* bad_send = nullptr;
    if (sides_[0].qp->post_send(send_list_.data(), &bad_send) != 0) {
      return false;
    }
    uint32_t sent = 0;
    uint32_t received = 0;
    for (uint64_t polls = 0; sent < 1 || received < receives_; ++polls) {
      sides_[0].device->poll();
      sides_[1].device->poll();
      if (!take(sides_[0], sent) || !take(sides_[1], received) || polls > kMostPolls) {
        return false;
      }
    }
    return true;
  }

  void poll_both() {
    sides_[0].device->poll();
    sides_[1].device->poll();
  }

 private:
  bool take(Side& side, uint32_t& count) {
    const int n = side.cq->poll(completions_);
    for (int i = 0; i < n; ++i) {
      if (completions_[static_cast<size_t>(i)].status != IBV_WC_SUCCESS) {
        return false;
      }
    }
    count += static_cast<uint32_t>(n < 0 ? 0 : n);
    return n >= 0;
  }

  CountingClock clock_;
  roce::LoopbackLink link_;
  std::array<Side, 2> sides_;
  uint32_t receives_;
  std::array<ibv_sge, 2> sges_{};
  std::vector<ibv_send_wr> send_list_;
  std::vector<ibv_recv_wr> recv_list_;
  std::array<ibv_wc, 32> completions_{};
};

void transfer(benchmark::State& state, ibv_wr_opcode opcode, uint32_t size, uint32_t burst) {
  Bursts bursts(opcode, size, burst);
  for ([[maybe_unused]] auto _ : state) {
    if (!bursts.run()) {
      state.SkipWithError("a message failed");
      break;
    }
  }
  const auto messages = state.iterations() * int64_t{burst};
  state.SetItemsProcessed(messages);
  state.SetBytesProcessed(messages * int64_t{size});
  state.counters["s/message/side"] = benchmark::Counter(
      static_cast<double>(2 * messages), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// A poll of each side that finds nothing to do. An item is one poll.
void poll_idle(benchmark::State& state) {
  Bursts bursts(IBV_WR_SEND, 64, 1);
  for ([[maybe_unused]] auto _ : state) {
    bursts.poll_both();
  }
  state.SetItemsProcessed(2 * state.iterations());
}

struct Case {
  const char* name;
  ibv_wr_opcode opcode;
  uint32_t size;
  uint32_t burst;
};

constexpr Case kCases[] = {
    {"engine/send_64B/burst1", IBV_WR_SEND, 64, 1},
    {"engine/send_64B/burst32", IBV_WR_SEND, 64, 32},
    {"engine/send_64B/burst256", IBV_WR_SEND, 64, 256},
    {"engine/write_64B/burst1", IBV_WR_RDMA_WRITE, 64, 1},
    {"engine/write_64B/burst32", IBV_WR_RDMA_WRITE, 64, 32},
    {"engine/write_64B/burst256", IBV_WR_RDMA_WRITE, 64, 256},
    {"engine/read_64B/burst16", IBV_WR_RDMA_READ, 64, kReads},
    {"engine/send_1MiB_pmtu4096", IBV_WR_SEND, kLargest, 1},
    {"engine/write_1MiB_pmtu4096", IBV_WR_RDMA_WRITE, kLargest, 1},
    {"engine/read_1MiB_pmtu4096", IBV_WR_RDMA_READ, kLargest, 1},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Case& c : kCases) {
    benchmark::RegisterBenchmark(c.name, transfer, c.opcode, c.size, c.burst);
  }
  benchmark::RegisterBenchmark("engine/poll_idle", poll_idle);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
