// The device under attack.
// SPDX-License-Identifier: BSD-3-Clause
#include "fuzz/victim.h"

#include <algorithm>
#include <cstring>

#include "attribute_mask.h"
#include "base/check.h"
#include "engine/counters.h"
#include "engine/engine.h"
#include "fuzz/hostile_packet.h"
#include "memory/region.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace roce::fuzz {
namespace {

constexpr uint64_t kGuardWord = 0x6775'6172'6421'6721;
constexpr int kOpenAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                            IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND |
                            static_cast<int>(Access::flush_global);
constexpr ibv_qp_type kTypes[Victim::kQps] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RC};
constexpr size_t kShared = 3;  // index of the queue pair on the shared receive queue

ibv_qp_attr attributes(size_t index, ibv_qp_state state) {
  ibv_qp_attr a{};
  a.qp_state = state;
  a.port_num = 1;
  a.qp_access_flags = kOpenAccess & ~(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  a.qkey = Victim::kQkey;
  a.path_mtu = IBV_MTU_256;
  a.dest_qp_num = Victim::kPeerQpn + static_cast<uint32_t>(index);
  a.rq_psn = Victim::kPeerPsn;
  a.sq_psn = Victim::kOwnPsn;
  a.max_dest_rd_atomic = a.max_rd_atomic = 4;
  a.min_rnr_timer = 1;
  a.timeout = 8;
  a.retry_cnt = 3;
  a.rnr_retry = index == 0 ? 7 : 2;
  a.ah_attr.is_global = 1;
  a.ah_attr.port_num = 1;
  a.ah_attr.grh.sgid_index = 1;
  std::memcpy(a.ah_attr.grh.dgid.raw, Gid::from(kPeerIp).bytes.data(), 16);
  return a;
}

}  // namespace

void VictimPort::put(std::span<const uint8_t> frame) {
  Frame one;
  if (waiting_ == in_.size() || pool_.take({&one, 1}) == 0) {
    return;
  }
  one.len = static_cast<uint32_t>(std::min<size_t>(frame.size(), kMtu + 18));
  std::memcpy(one.data, frame.data(), one.len);
  in_[waiting_++] = one;
}

size_t VictimPort::rx_burst(Instant /*now*/, std::span<Frame> frames) {
  const size_t n = std::min(frames.size(), waiting_);
  std::copy_n(in_.begin(), n, frames.begin());
  std::copy(in_.begin() + static_cast<ptrdiff_t>(n), in_.begin() + static_cast<ptrdiff_t>(waiting_),
            in_.begin());
  waiting_ -= n;
  return n;
}

size_t VictimPort::tx_burst(Instant /*now*/, std::span<Frame> frames) {
  if (refusing_) {
    return 0;
  }
  for (const Frame& f : frames) {
    look_at(f);
    pool_.give(f.cookie);
  }
  return frames.size();
}

void VictimPort::release(std::span<Frame> frames) {
  for (const Frame& f : frames) {
    pool_.give(f.cookie);
  }
}

/// Whatever was received, what is sent is well-formed.
void VictimPort::look_at(const Frame& frame) {
  wire::Packet packet;
  const wire::ParseResult parsed = wire::parse({frame.data, frame.len}, packet);
  // To the parser, membership reports have a strange protocol, and IPv4 options.
  const bool report =
      parsed.reason == DropReason::ip_protocol || parsed.reason == DropReason::ip_header_length;
  ROCE_CHECK(parsed.kind != wire::FrameKind::bad || report);
  if (parsed.kind != wire::FrameKind::roce) {
    return;
  }
  ROCE_CHECK(wire::icrc_ok(packet.l3, packet.l3_len) && packet.info->known);
  if (packet.info->request()) {
    newest_[packet.dest_qp % kPeers] = packet.psn.value();
  }
}

Victim::Victim() : memory_((kOpen + kGuard) / sizeof(uint64_t), kGuardWord) {
  EngineConfig config;
  config.tables = {.max_qp = 16, .max_mr = 64};
  config.addresses.mac = kOwnMac;
  ROCE_CHECK(config.addresses.add(Gid::from(kOwnIp), 24));
  config.static_neighbours = {{Gid::from(kPeerIp), kPeerMac}};
  config.held_packets = 48;
  verbs::DeviceConfig device;
  device.window_packets = 32;
  device.dcqcn_line_rate = 1e9;
  device_ = std::move(*verbs::Device::create(port_, clock_, config, device));
  pd_.emplace(*device_->alloc_pd());
  guard_.emplace(*device_->reg_mr(*pd_, memory_.data() + kOpen / sizeof(uint64_t), kGuard, 0));
  send_cq_.emplace(*device_->create_cq(64));
  recv_cq_.emplace(*device_->create_cq(64));
  srq_.emplace(*device_->create_srq(*pd_, {16, 2, 0}));
  for (size_t i = 0; i < kQps; ++i) {
    ibv_qp_init_attr init{};
    init.qp_type = kTypes[i];
    init.cap = {16, 16, 2, 2, 32};
    init.sq_sig_all = 1;
    qps_.push_back(
        *device_->create_qp(*pd_, *send_cq_, *recv_cq_, init, i == kShared ? &*srq_ : nullptr));
  }
  ah_.emplace(*device_->create_ah(*pd_, attributes(0, IBV_QPS_RTR).ah_attr));
  ibv_gid group{};
  std::memcpy(group.raw, Gid::from(kGroupIp).bytes.data(), 16);
  ROCE_CHECK(qps_[2].attach_mcast(group).has_value());
}

Victim::~Victim() = default;

void Victim::register_open() {
  open_.emplace(*device_->reg_mr(*pd_, memory_.data(), kOpen, kOpenAccess));
  window_.emplace(*device_->alloc_mw(*pd_, IBV_MW_TYPE_2));
}

void Victim::reset() {
  port_.refuse(false);
  for (size_t i = 0; i < kQps; ++i) {
    ROCE_CHECK(qps_[i].modify(attributes(i, IBV_QPS_RESET), IBV_QP_STATE).has_value());
  }
  run();
  drain();
  window_.reset();
  open_.reset();
  register_open();
  for (size_t i = 0; i < kQps; ++i) {
    for (const ibv_qp_state next : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      modify(i, next);
    }
  }
  run();
}

void Victim::modify(size_t index, ibv_qp_state state) {
  // Refused where there is no such move, which is fine.
  static_cast<void>(
      qps_[index].modify(attributes(index, state), test::attribute_mask(kTypes[index], state)));
}

void Victim::post_receive(size_t index, size_t offset, uint32_t length) {
  ibv_sge sge[2] = {{va(offset), length / 2, open_key()},
                    {va(offset) + length / 2, length - length / 2, open_key()}};
  ibv_recv_wr wr{};
  wr.sg_list = sge;
  wr.num_sge = 2;
  ibv_recv_wr* bad = nullptr;
  static_cast<void>(index == kShared ? srq_->post_recv(&wr, &bad)
                                     : qps_[index].post_recv(&wr, &bad));
}

void Victim::post_send(size_t index, ibv_send_wr& wr, size_t offset, uint32_t length,
                       bool bad_key) {
  ibv_sge sge{va(offset), length, bad_key ? guard_key() : open_key()};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_send_wr* bad = nullptr;
  static_cast<void>(qps_[index].post_send(&wr, &bad));
}

void Victim::bind_window(size_t index, size_t offset, size_t length, int access) {
  if (!open_) {
    return;
  }
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_BIND_MW;
  wr.bind_mw.mw = window_->ibv();
  wr.bind_mw.rkey = ibv_inc_rkey(window_->rkey());
  wr.bind_mw.bind_info = {open_->ibv(), va(offset), length, static_cast<unsigned>(access)};
  ibv_send_wr* bad = nullptr;
  static_cast<void>(qps_[index].post_send(&wr, &bad));
}

void Victim::drop_region() {
  if (open_ && open_->deregister()) {
    open_.reset();
  }
}

void Victim::run(int turns) {
  for (; turns > 0; --turns) {
    device_->poll();
    if (device_->next_event() > clock_.now()) {
      return;
    }
  }
}

void Victim::drain() {
  ibv_wc wc[16];
  for (verbs::Cq* const cq : {&*send_cq_, &*recv_cq_}) {
    while (cq->poll(wc) > 0) {
    }
  }
  while (device_->take_async_event()) {
  }
}

void Victim::check() {
  drain();
  const EngineCounters counters = device_->counters();
  uint64_t sum = 0;
  for (const uint64_t n : counters.drops) {
    sum += n;
  }
  ROCE_CHECK(sum == counters.dropped);
  ROCE_CHECK(std::all_of(memory_.begin() + kOpen / sizeof(uint64_t), memory_.end(),
                         [](uint64_t word) { return word == kGuardWord; }));
}

}  // namespace roce::fuzz
