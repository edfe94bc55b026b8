// One side of a loopback link in one thread: device, completion queue, memory, and queue pairs that
// are connected to the other side's. Time stands still but for a step a reading, so that no clock
// is read: that costs an engine about 20 ns a poll on top.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <roce/verbs.h>

#include "base/check.h"
#include "engine/engine.h"
#include "port/port.h"

namespace roce::bench {

constexpr uint8_t kReads = 16;

/// Time stands still but for a step a reading, so that no clock is read: that costs an engine about
/// 20 ns a poll on top.
class CountingClock final : public verbs::Clock {
 public:
  Instant now() override { return now_ = now_ + Duration::from_ns(100); }

 private:
  Instant now_{1'000'000'000};
};

class RealClock final : public verbs::Clock {
 public:
  Instant now() override {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return Instant{static_cast<uint64_t>(std::chrono::nanoseconds(since).count())};
  }
};

inline Gid address_of(size_t side) {
  return Gid::from(Ipv4Address{{192, 0, 2, static_cast<uint8_t>(side + 1)}});
}

/// How large a side is.
struct Extent {
  uint32_t queue_pairs = 1;
  uint32_t depth = 1024;       ///< of a send queue, and of a receive queue
  uint32_t memory = 1u << 20;  ///< bytes
  uint32_t held_packets = 0;   ///< engine.held_packets
};

/// RESET to RTS; the peer is the queue pair `dest` at `gid`.
inline void connect(verbs::Device& device, verbs::Qp& qp, const Gid& gid, uint32_t dest) {
  ibv_qp_attr attr{};
  const auto change = [&qp, &attr](int mask) { ROCE_CHECK(qp.modify(attr, mask).has_value()); };
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  change(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_4096;
  attr.dest_qp_num = dest;
  attr.max_dest_rd_atomic = attr.max_rd_atomic = kReads;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(device.default_gid_index());
  std::memcpy(attr.ah_attr.grh.dgid.raw, gid.bytes.data(), gid.bytes.size());
  change(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 14;
  attr.retry_cnt = attr.rnr_retry = 7;
  change(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
         IBV_QP_MAX_QP_RD_ATOMIC);
}

/// Side 0 or 1 of a link. Create both before connecting. Thread: one at a time.
class Side {
 public:
  /// `port` is its own, `other` the other side's.
  Side(Port& port, const Port& other, verbs::Clock& clock, size_t side, const Extent& extent)
      : memory(extent.memory, 0x5a), side_(side), depth_(extent.depth) {
    EngineConfig config;
    config.tables = {.max_qp = extent.queue_pairs + 1, .max_mr = 16};
    config.held_packets = extent.held_packets;
    config.addresses.mac = port.info().mac;
    ROCE_CHECK(config.addresses.add(address_of(side), 24).has_value());
    config.static_neighbours.emplace_back(address_of(1 - side), other.info().mac);
    auto created = verbs::Device::create(port, clock, config, {});
    ROCE_CHECK(created.has_value());
    device = std::move(*created);
    pd.emplace(*device->alloc_pd());
    cq.emplace(*device->create_cq(static_cast<int>(2 * extent.depth)));
    mr.emplace(
        *device->reg_mr(*pd, memory.data(), memory.size(),
                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE));
  }

  verbs::Qp create_qp() {
    ibv_qp_init_attr init{};
    init.qp_type = IBV_QPT_RC;
    init.cap = {.max_send_wr = depth_,
                .max_recv_wr = depth_,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    return *device->create_qp(*pd, *cq, *cq, init);
  }

  /// RESET to RTS; the peer is the queue pair `dest` of the other side.
  void connect(verbs::Qp& qp, uint32_t dest) const {
    bench::connect(*device, qp, address_of(1 - side_), dest);
  }

  std::vector<uint8_t> memory;
  std::unique_ptr<verbs::Device> device;
  std::optional<verbs::Pd> pd;
  std::optional<verbs::Cq> cq;
  std::optional<verbs::Mr> mr;

 private:
  size_t side_;
  uint32_t depth_;
};

/// A signalled WRITE of the first `sge.length` bytes of `from` to `to`; `sge` must outlive it.
inline ibv_send_wr write_between(const Side& from, const Side& to, ibv_sge& sge) {
  sge.addr = reinterpret_cast<uint64_t>(from.memory.data());
  sge.lkey = from.mr->lkey();
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(to.memory.data());
  wr.wr.rdma.rkey = to.mr->rkey();
  return wr;
}

}  // namespace roce::bench
