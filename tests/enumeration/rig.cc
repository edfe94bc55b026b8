// The rig's device and what it looks at.
// SPDX-License-Identifier: BSD-3-Clause
#include "enumeration/rig.h"

#include <algorithm>
#include <cstring>

#include "attribute_mask.h"
#include "base/check.h"
#include "engine/engine.h"
#include "enumeration/wire_table.h"

namespace roce::enumeration {
namespace {

constexpr uint32_t kPsnMask = 0xffffff;
constexpr int kTurns = 8;

// Places in the rig's memory.
constexpr size_t kMemory = 4096;
constexpr size_t kReceiveAt = 0;
constexpr size_t kReceiveRoom = 1024;
constexpr size_t kTargetAt = 1024;
constexpr size_t kLocalAt = 2048;

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                        IBV_ACCESS_REMOTE_ATOMIC | static_cast<int>(Access::flush_global);

ibv_qp_attr attributes(ibv_qp_state state) {
  ibv_qp_attr a{};
  a.qp_state = state;
  a.port_num = 1;
  a.qp_access_flags = kAccess & ~IBV_ACCESS_LOCAL_WRITE;
  a.qkey = kQkey;
  a.path_mtu = IBV_MTU_256;
  a.dest_qp_num = kPeerQpn;
  a.rq_psn = Rig::kPeerPsn;
  a.sq_psn = Rig::kOwnPsn;
  a.max_dest_rd_atomic = a.max_rd_atomic = 4;
  a.retry_cnt = a.rnr_retry = 7;
  a.ah_attr.is_global = 1;
  a.ah_attr.port_num = 1;
  a.ah_attr.grh.sgid_index = 1;
  std::memcpy(a.ah_attr.grh.dgid.raw, Gid::from(kPeerIp).bytes.data(), 16);
  return a;
}

void check(const Status& status) {
  ROCE_CHECK(status.has_value());
}

/// After these the queue pair is as it was before.
bool leaves_no_trace(DropReason reason) {
  return reason == DropReason::unknown_opcode || reason == DropReason::headers_too_short ||
         reason == DropReason::qp_type || reason == DropReason::qp_state ||
         reason == DropReason::ghost_response;
}

}  // namespace

Rig::Rig() : memory_(kMemory / sizeof(uint64_t)) {
  EngineConfig config;
  config.tables = {.max_qp = 16, .max_mr = 64};
  config.addresses.mac = port_.info().mac;
  ROCE_CHECK(config.addresses.add(Gid::from(kOwnIp), 24));
  config.static_neighbours = {{Gid::from(kPeerIp), kPeerMac}};
  device_ = std::move(*verbs::Device::create(port_, clock_, config, {}));
  pd_.emplace(*device_->alloc_pd());
  mr_.emplace(*device_->reg_mr(*pd_, memory_.data(), kMemory, kAccess));
  send_cq_.emplace(*device_->create_cq(16));
  recv_cq_.emplace(*device_->create_cq(16));
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
    ibv_qp_init_attr init{};
    init.qp_type = type;
    init.cap = {4, 4, 1, 1, 0};
    init.sq_sig_all = 1;
    qps_.push_back(*device_->create_qp(*pd_, *send_cq_, *recv_cq_, init));
  }
  ah_.emplace(*device_->create_ah(*pd_, attributes(IBV_QPS_RTR).ah_attr));
  run();
}

Rig::~Rig() = default;

verbs::Qp& Rig::qp(ibv_qp_type type) {
  return qps_[type == IBV_QPT_RC ? 0 : type == IBV_QPT_UC ? 1 : 2];
}

void Rig::modify(verbs::Qp& qp, ibv_qp_type type, ibv_qp_state state) {
  check(qp.modify(attributes(state), test::attribute_mask(type, state)));
}

void Rig::post_receive(verbs::Qp& qp) {
  ibv_sge sge{reinterpret_cast<uint64_t>(memory_.data()) + kReceiveAt, kReceiveRoom, mr_->lkey()};
  ibv_recv_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  ROCE_CHECK(qp.post_recv(&wr, &bad) == 0);
}

void Rig::post(verbs::Qp& qp, ibv_wr_opcode opcode, uint32_t bytes, bool bad_key) {
  ibv_sge sge{reinterpret_cast<uint64_t>(memory_.data()) + kLocalAt, bytes,
              mr_->lkey() ^ (bad_key ? 1u : 0u)};
  ibv_send_wr wr{};
  wr.opcode = opcode;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  if (&qp == &this->qp(IBV_QPT_UD)) {
    wr.wr.ud = {ah_->ibv(), kPeerQpn, kQkey};
  } else if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    wr.wr.atomic = {0x1000, 1, 0, 0x1234};
  } else {
    wr.wr.rdma = {0x1000, 0x1234};
  }
  ibv_send_wr* bad = nullptr;
  ROCE_CHECK(qp.post_send(&wr, &bad) == 0);
}

uint32_t Rig::psn_of(const Tuple& t) const {
  if (row_of(static_cast<uint8_t>(t.opcode >> 5), t.opcode & 0x1f).is_response()) {
    return kOwnPsn;
  }
  switch (t.context) {
    case Context::send_open:
    case Context::write_open:
    case Context::ahead:
      return (kPeerPsn + 1) & kPsnMask;
    case Context::behind:
      return (kPeerPsn - 1) & kPsnMask;
    default:
      return kPeerPsn;
  }
}

/// A WRITE that is begun leaves just so much for the tuple's packet that it can be right.
void Rig::open_message(const Tuple& t) {
  const auto transport = static_cast<uint8_t>(t.type == IBV_QPT_RC ? kRc : kUc);
  const Row row = row_of(static_cast<uint8_t>(t.opcode >> 5), t.opcode & 0x1f);
  const uint32_t payload = t.bytes >= t.pad ? t.bytes - t.pad : 0;
  const uint32_t left = row.ends() ? std::max(payload, 1u) : payload + 8;
  Tuple first = t;
  first.bytes = kPmtu;
  first.pad = 0;
  first.opcode = static_cast<uint8_t>(transport << 5 | (t.context == Context::send_open ? 0 : 6));
  port_.put(opener_.build(first, qp(t.type).qpn(), kPeerPsn,
                          reinterpret_cast<uint64_t>(memory_.data()) + kTargetAt, mr_->rkey(),
                          kPmtu + left));
}

void Rig::prepare(const Tuple& t) {
  verbs::Qp& qp = this->qp(t.type);
  modify(qp, t.type, IBV_QPS_RESET);
  if (t.state != IBV_QPS_RESET) {
    modify(qp, t.type, IBV_QPS_INIT);
    post_receive(qp);
  }
  const ibv_qp_state last = t.state == IBV_QPS_ERR ? IBV_QPS_INIT : t.state;
  for (const ibv_qp_state next : {IBV_QPS_RTR, IBV_QPS_RTS}) {
    if (last >= next) {
      modify(qp, t.type, next);
    }
  }
  switch (t.context) {
    case Context::send_open:
    case Context::write_open:
      open_message(t);
      break;
    case Context::send_sent:
      post(qp, IBV_WR_SEND, kReadBytes, false);
      break;
    case Context::read_sent:
      post(qp, IBV_WR_RDMA_READ, kReadBytes, false);
      break;
    case Context::atomic_sent:
      post(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, sizeof(uint64_t), false);
      break;
    default:
      break;
  }
  run();
  if (t.state == IBV_QPS_SQE) {
    post(qp, IBV_WR_SEND, kReadBytes, true);
    run();
  } else if (t.state > IBV_QPS_RTS) {
    modify(qp, t.type, t.state);
    run();
  }
  ROCE_CHECK(qp.query().qp_state == t.state);
  forget();
  std::fill(memory_.begin(), memory_.end(), 0);
  prepared_ = t;
  clean_ = true;
}

void Rig::run() {
  for (int turn = 0; turn < kTurns; ++turn) {
    device_->poll();
    if (device_->next_event() > clock_.now()) {
      return;
    }
  }
  const bool at_rest = false;
  ROCE_CHECK(at_rest);
}

void Rig::feed(std::span<const uint8_t> frame) {
  port_.put(frame);
  run();
}

std::span<const uint8_t> Rig::packet(const Tuple& t) {
  const Row row = row_of(static_cast<uint8_t>(t.opcode >> 5), t.opcode & 0x1f);
  const uint32_t payload = t.bytes >= t.pad ? t.bytes - t.pad : 0;
  uint32_t dma_length = kReadBytes;
  if (row.kind == Kind::write) {
    dma_length = row.ends() ? payload : payload + kPmtu;
  }
  return builder_.build(t, qp(t.type).qpn(), psn_of(t),
                        reinterpret_cast<uint64_t>(memory_.data()) + kTargetAt, mr_->rkey(),
                        dma_length);
}

bool Rig::stored() const {
  return std::any_of(memory_.begin(), memory_.end(), [](uint64_t word) { return word != 0; });
}

bool Rig::has_completions() {
  ibv_wc wc{};
  return send_cq_->poll({&wc, 1}) != 0 || recv_cq_->poll({&wc, 1}) != 0;
}

void Rig::forget() {
  while (has_completions()) {
  }
  while (device_->take_async_event()) {
  }
  port_.sent().clear();
}

Outcome Rig::play(const Tuple& t) {
  // The begun WRITE depends on the packet.
  const bool same = t.type == prepared_.type && t.state == prepared_.state &&
                    t.context == prepared_.context && t.context != Context::write_open;
  if (!clean_ || !same) {
    prepare(t);
  }
  const EngineCounters before = device_->counters();
  feed(packet(t));
  const Outcome outcome = observe(t, before);
  clean_ = leaves_no_trace(outcome.drop) && outcome.reply == Reply::none;
  return outcome;
}

void Rig::read_reply(const std::vector<uint8_t>& frame, Outcome& out) {
  const uint8_t opcode = frame[kBthAt];
  const Row row = row_of(static_cast<uint8_t>(opcode >> 5), opcode & 0x1f);
  const uint8_t syndrome = frame[kExtensionsAt];
  switch (row.kind) {
    case Kind::acknowledge:
      out.reply = syndrome < 0x20 ? Reply::ack : Reply::nak;
      out.syndrome = syndrome < 0x20 ? 0 : syndrome;
      break;
    case Kind::read_response:
      out.reply = Reply::read_response;
      break;
    case Kind::atomic_acknowledge:
      out.reply = Reply::atomic_response;
      break;
    default:
      out.reply = Reply::sent_again;
      break;
  }
}

Outcome Rig::observe(const Tuple& t, const EngineCounters& before) {
  Outcome out;
  const EngineCounters now = device_->counters();
  ROCE_CHECK(now.dropped - before.dropped <= 1);
  for (size_t i = 0; i < kDropReasonCount && now.dropped != before.dropped; ++i) {
    if (now.drops[i] != before.drops[i]) {
      out.drop = static_cast<DropReason>(i);
    }
  }
  ROCE_CHECK(port_.sent().size() <= 1);
  for (const auto& frame : port_.sent()) {
    read_reply(frame, out);
  }
  port_.sent().clear();
  out.state = qp(t.type).query().qp_state;
  ibv_wc wc[4];
  for (const auto& [cq, status] : {std::pair{&*recv_cq_, &out.received}, {&*send_cq_, &out.sent}}) {
    const int n = cq->poll(wc);
    ROCE_CHECK(n <= 1);
    *status = n == 1 ? static_cast<int>(wc[0].status) : kNoCompletion;
  }
  while (const auto event = device_->take_async_event()) {
    out.events |= event->type == IBV_EVENT_QP_REQ_ERR ? kRequestError
                  : event->type == IBV_EVENT_COMM_EST ? kEstablished
                                                      : kOtherEvent;
  }
  out.stored = stored();
  return out;
}

}  // namespace roce::enumeration
