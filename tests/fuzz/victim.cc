// The device under attack.
// SPDX-License-Identifier: BSD-3-Clause
#include "fuzz/victim.h"

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cstring>

#include "attribute_mask.h"
#include "base/check.h"
#include "base/prng.h"
#include "engine/counters.h"
#include "engine/engine.h"
#include "fuzz/hostile_packet.h"
#include "memory/region.h"
#include "wire/opcode.h"

namespace roce::fuzz {
namespace {

constexpr uint8_t kFill = 0x67;
constexpr uint64_t kSeed = 5;
constexpr int kOpenAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                            IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND |
                            static_cast<int>(Access::flush_global);
constexpr ibv_qp_type kTypes[Victim::kQps] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RC};
constexpr size_t kShared = 3;      // index of the queue pair on the shared receive queue
constexpr uint32_t kShareds = 16;  // entries of that

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

Victim::Victim() : memory_((kOpen + kGuard) / sizeof(uint64_t)) {
  EngineConfig config;
  config.tables = {.max_qp = 16, .max_mr = 64};
  config.addresses.mac = kOwnMac;
  ROCE_CHECK(config.addresses.add(Gid::from(kOwnIp), 24));
  config.static_neighbours = {{Gid::from(kPeerIp), kPeerMac}};
  config.held_packets = 48;
  verbs::DeviceConfig device;
  device.window_packets = 32;
  device.dcqcn_line_rate = 1e9;
  device.random = [numbers = Prng(kSeed)]() mutable { return numbers.next(); };
  device_ = std::move(*verbs::Device::create(port_, clock_, config, device));
  create_objects();
  ASAN_POISON_MEMORY_REGION(guard(), kGuard);
  touched_.fill(true);
}

Victim::~Victim() {
  ASAN_UNPOISON_MEMORY_REGION(guard(), kGuard);
}

void Victim::create_objects() {
  pd_.emplace(*device_->alloc_pd());
  guard_.emplace(*device_->reg_mr(*pd_, guard(), kGuard, 0, va(kOpen)));
  register_open();
  alloc_window();
  send_cq_.emplace(*device_->create_cq(64));
  recv_cq_.emplace(*device_->create_cq(64));
  srq_.emplace(*device_->create_srq(*pd_, {kShareds, 2, 0}));
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

void Victim::register_open() {
  open_.emplace(*device_->reg_mr(*pd_, memory_.data(), kOpen, kOpenAccess, va(0)));
}

void Victim::alloc_window() {
  window_.emplace(*device_->alloc_mw(*pd_, IBV_MW_TYPE_2));
}

void Victim::begin(Digest* digest) {
  digest_ = nullptr;
  port_.start(nullptr);
  reconnect();
  if (shared_queue_touched_) {
    drain();
    empty_shared_queue();
  }
  restore_memory();
  clock_.start_epoch();
  run();
  drain();
  touched_.fill(false);
  window_touched_ = shared_queue_touched_ = false;
  if (digest != nullptr) {
    counters_ = device_->counters();
    qp_counters_ = device_->qp_counters();
  }
  digest_ = digest;
  port_.start(digest);
}

/// Queue pairs that were touched forget what they have seen.
void Victim::reconnect() {
  for (size_t i = 0; i < kQps; ++i) {
    if (touched_[i]) {
      ROCE_CHECK(qps_[i].modify(attributes(i, IBV_QPS_RESET), IBV_QP_STATE).has_value());
    }
  }
  for (size_t i = 0; i < kQps; ++i) {
    if (touched_[i]) {
      for (const ibv_qp_state next : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
        modify(i, next);
      }
    }
  }
}

/// Receives into the entries that are left, since nothing else takes them out.
void Victim::empty_shared_queue() {
  HostileFrame frame;
  HostilePacket p;
  p.opcode = wire::opcode_of(wire::Transport::rc, wire::Operation::send_only);
  p.qpn = qps_[kShared].qpn();
  for (uint32_t i = 0; i < kShareds; ++i) {
    p.psn = kPeerPsn + i;
    deliver(kShared, frame.build(p));
  }
  run();
  touched_.fill(false);
  touched_[kShared] = true;
  reconnect();
}

void Victim::restore_memory() {
  if (window_touched_) {
    window_.reset();
  }
  if (!open_) {
    register_open();
  }
  if (window_touched_) {
    alloc_window();
  }
  std::memset(memory_.data(), kFill, kOpen);
}

void Victim::deliver(size_t index, std::span<const uint8_t> frame) {
  touched_[index] = true;
  port_.put(frame);
}

void Victim::modify(size_t index, ibv_qp_state state) {
  touched_[index] = true;
  // Refused where there is no such move, which is fine.
  const Status moved =
      qps_[index].modify(attributes(index, state), test::attribute_mask(kTypes[index], state));
  note(moved.has_value() ? 1 : 0);
}

void Victim::post_receive(size_t index, size_t offset, uint32_t length) {
  touched_[index] = true;
  shared_queue_touched_ = shared_queue_touched_ || index == kShared;
  ibv_sge sge[2] = {{va(offset), length / 2, open_key()},
                    {va(offset) + length / 2, length - length / 2, open_key()}};
  ibv_recv_wr wr{};
  wr.sg_list = sge;
  wr.num_sge = 2;
  ibv_recv_wr* bad = nullptr;
  const int rc = index == kShared ? srq_->post_recv(&wr, &bad) : qps_[index].post_recv(&wr, &bad);
  note(static_cast<uint64_t>(rc));
}

void Victim::post_send(size_t index, ibv_send_wr& wr, size_t offset, uint32_t length,
                       bool bad_key) {
  touched_[index] = true;
  ibv_sge sge{va(offset), length, bad_key ? guard_key() : open_key()};
  if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
    sge.addr = reinterpret_cast<uint64_t>(memory_.data()) + offset;
  }
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_send_wr* bad = nullptr;
  note(static_cast<uint64_t>(qps_[index].post_send(&wr, &bad)));
}

void Victim::bind_window(size_t index, size_t offset, size_t length, int access) {
  if (!open_) {
    return;
  }
  touched_[index] = window_touched_ = true;
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_BIND_MW;
  wr.bind_mw.mw = window_->ibv();
  wr.bind_mw.rkey = ibv_inc_rkey(window_->rkey());
  wr.bind_mw.bind_info = {open_->ibv(), va(offset), length, static_cast<unsigned>(access)};
  ibv_send_wr* bad = nullptr;
  note(static_cast<uint64_t>(qps_[index].post_send(&wr, &bad)));
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

void Victim::note_completion(const ibv_wc& wc) {
  note(uint64_t{wc.status} << 32 | static_cast<uint64_t>(wc.opcode));
  note(uint64_t{wc.qp_num} << 32 | wc.src_qp);
  // A key that was invalidated is another one in each victim.
  note(uint64_t{wc.byte_len} << 32 | ((wc.wc_flags & IBV_WC_WITH_IMM) != 0 ? wc.imm_data : 0));
  note(uint64_t{wc.wc_flags} << 32 | wc.pkey_index);
}

void Victim::drain() {
  ibv_wc wc[16];
  for (verbs::Cq* const cq : {&*send_cq_, &*recv_cq_}) {
    for (int n = cq->poll(wc); n > 0; n = cq->poll(wc)) {
      for (int i = 0; digest_ != nullptr && i < n; ++i) {
        note_completion(wc[i]);
      }
    }
  }
  while (const auto event = device_->take_async_event()) {
    note(static_cast<uint64_t>(event->type));
  }
}

void Victim::end() {
  port_.refuse(false);
  run(8);
  drain();
  const EngineCounters counters = device_->counters();
  uint64_t sum = 0;
  for (const uint64_t n : counters.drops) {
    sum += n;
  }
  ROCE_CHECK(sum == counters.dropped);
  if (digest_ != nullptr) {
    digest_->add_change(counters_, counters);
    note_end();
  }
}

/// Adds what can be asked for.
void Victim::note_end() {
  digest_->add_change(qp_counters_, device_->qp_counters());
  digest_->add({reinterpret_cast<const uint8_t*>(memory_.data()), kOpen});
  const Instant next = device_->next_event();
  note(next == kNever ? UINT64_MAX : static_cast<uint64_t>((next - clock_.now()).ns));
  for (const verbs::Qp& qp : qps_) {
    const ibv_qp_attr attr = qp.query();
    note(uint64_t{attr.qp_state} << 8 | static_cast<uint64_t>(attr.sq_draining));
  }
}

}  // namespace roce::fuzz
