// Set-up and the steps that make the device do something.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>
#include <utility>

#include <gtest/gtest.h>

#include "attribute_mask.h"
#include "script/addresses.h"
#include "script/script.h"
#include "script/words.h"

namespace roce::script {
namespace {

uint8_t initial_byte(size_t offset) {
  return static_cast<uint8_t>(offset * 13 + offset / 256 * 5 + 3);
}

}  // namespace

void Script::make_device() {
  port_ = std::make_unique<ScriptedPort>(setup_.port_mtu);
  EngineConfig config;
  config.tables = {.max_qp = 16, .max_mr = 64};
  config.held_packets = setup_.held;
  config.addresses.mac = port_->info().mac;
  config.addresses.vlan = setup_.vlan;
  if (!config.addresses.add(Gid::from(ipv4_of(false)), 24) ||
      !config.addresses.add(Gid::from(ipv6_of(false)), 64)) {
    fail("the addresses were refused");
  }
  config.static_neighbours = {{Gid::from(ipv4_of(true)), kPeerMac},
                              {Gid::from(ipv6_of(true)), kPeerMac}};
  verbs::DeviceConfig device;
  device.window_packets = setup_.window;
  device.pkeys = {setup_.pkey};
  device.while_waiting = [this] { clock_.set(clock_.now() + ms(1)); };
  auto created = verbs::Device::create(*port_, clock_, config, device);
  if (!created) {
    fail("no device: " + created.error().reason);
  }
  device_ = std::move(*created);
  settle();
  sent_.clear();  // the announcements of its addresses
}

void Script::create(const Setup& setup, Where at) {
  step("create a queue pair", at);
  tear_down();
  drops_seen_ = {};
  setup_ = setup;
  if (setup.first_psns) {
    info_.peer_psn = setup.first_psns->peer;
    info_.device_psn = setup.first_psns->device;
  }
  make_device();
  memory_.resize(kMemory);
  for (size_t i = 0; i < kMemory; ++i) {
    memory_[i] = initial_byte(i);
  }
  pd_.emplace(*device_->alloc_pd());
  mr_.emplace(*device_->reg_mr(*pd_, memory_.data(), memory_.size(), setup.mr_access));
  send_cq_.emplace(*device_->create_cq(setup.send_cqes));
  recv_cq_.emplace(*device_->create_cq(setup.recv_cqes));
  ibv_qp_init_attr init{};
  init.qp_type = setup.type;
  init.cap = setup.cap;
  init.sq_sig_all = setup.signal_all ? 1 : 0;
  if (setup.shared_receives > 0) {
    srq_.emplace(*device_->create_srq(*pd_, {setup.shared_receives, setup.cap.max_recv_sge, 0}));
  }
  auto qp = device_->create_qp(*pd_, *send_cq_, *recv_cq_, init, srq_ ? &*srq_ : nullptr);
  if (!qp) {
    fail("no queue pair: " + qp.error().reason);
  }
  qp_.emplace(std::move(*qp));
  qpn_ = qp_->qpn();
  if (setup.type == IBV_QPT_UD) {
    ah_.emplace(*device_->create_ah(*pd_, attributes(IBV_QPS_RTR).ah_attr));
  }
}

verbs::Qp Script::another_qp(Where at) {
  step("create another queue pair", at);
  ibv_qp_init_attr init{};
  init.qp_type = setup_.type;
  init.cap = setup_.cap;
  init.sq_sig_all = 1;
  verbs::Qp qp = *device_->create_qp(*pd_, *send_cq_, *recv_cq_, init, srq_ ? &*srq_ : nullptr);
  for (const ibv_qp_state next : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    if (const Status s = qp.modify(attributes(next), mask(next)); !s) {
      fail(s.error().reason);
    }
  }
  return qp;
}

void Script::connect(const Setup& setup, Where at) {
  create(setup, at);
  bring_to(IBV_QPS_RTS, at);
}

ibv_qp_attr Script::attributes(ibv_qp_state state) const {
  ibv_qp_attr a{};
  a.qp_state = state;
  a.port_num = 1;
  a.qp_access_flags = static_cast<unsigned>(setup_.access);
  a.qkey = kQkey;
  a.path_mtu = setup_.pmtu;
  a.dest_qp_num = kPeerQpn;
  a.rq_psn = info_.peer_psn;
  a.sq_psn = info_.device_psn;
  a.max_dest_rd_atomic = setup_.dest_rd_atomic;
  a.max_rd_atomic = setup_.rd_atomic;
  a.min_rnr_timer = setup_.min_rnr_timer;
  a.timeout = setup_.timeout;
  a.retry_cnt = setup_.retry_cnt;
  a.rnr_retry = setup_.rnr_retry;
  a.ah_attr.is_global = 1;
  a.ah_attr.port_num = 1;
  a.ah_attr.sl = setup_.sl;
  a.ah_attr.grh.sgid_index = setup_.ipv6 ? 2 : 1;
  a.ah_attr.grh.traffic_class = setup_.traffic_class;
  a.ah_attr.grh.hop_limit = setup_.hop_limit;
  a.ah_attr.grh.flow_label = setup_.flow_label;
  std::memcpy(a.ah_attr.grh.dgid.raw, gid_of(setup_, true).bytes.data(), 16);
  return a;
}

int Script::mask(ibv_qp_state state) const {
  return test::attribute_mask(setup_.type, state);
}

void Script::bring_to(ibv_qp_state state, Where at) {
  constexpr ibv_qp_state kWay[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};
  for (const ibv_qp_state next : kWay) {
    const ibv_qp_state now = qp_->query().qp_state;
    const ibv_qp_state last = std::min(state == IBV_QPS_ERR ? IBV_QPS_INIT : state, IBV_QPS_RTS);
    if (now < next && next <= last) {
      modify(attributes(next), mask(next), at);
    }
  }
  if (state == IBV_QPS_SQE) {
    post(wr_send(0).from_bad_key(0, 8), at);
    expect_sent({failed(0, IBV_WC_LOC_PROT_ERR)}, at);
  } else if (state > IBV_QPS_RTS) {
    modify(attributes(state), IBV_QP_STATE, at);
  }
}

void Script::refuse_frames(bool on, Where at) {
  step(on ? "let the port take nothing" : "let the port take frames again", at);
  port_->refuse(on);
  settle();
}

void Script::advance(Duration span, Where at) {
  step("let " + std::to_string(span.ns) + " ns pass", at);
  const Instant end = clock_.now() + span;
  // A device whose port takes nothing is never at rest.
  const Duration least = port_->refusing() ? us(100) : ns(1);
  while (clock_.now() < end) {
    clock_.set(std::min(end, std::max(device_->next_event(), clock_.now() + least)));
    settle();
  }
}

int Script::post_list(const std::vector<Wr>& list) {
  std::vector<ibv_send_wr> wrs;
  std::vector<std::vector<ibv_sge>> sges;
  for (const Wr& w : list) {
    wrs.push_back(w.wr);
    if (setup_.type == IBV_QPT_UD) {
      auto& ud = wrs.back().wr.ud;
      ud.ah = ah_->ibv();
      ud.remote_qkey = ud.remote_qpn == 0 ? kQkey : ud.remote_qkey;
      ud.remote_qpn = ud.remote_qpn == 0 ? kPeerQpn : ud.remote_qpn;
    }
    sges.emplace_back();
    for (const Wr::Piece& piece : w.pieces) {
      sges.back().push_back({at(piece.offset), piece.length, mr_->lkey() ^ piece.lkey_error});
    }
  }
  for (size_t i = 0; i < wrs.size(); ++i) {
    wrs[i].sg_list = sges[i].data();
    wrs[i].num_sge = static_cast<int>(sges[i].size());
    wrs[i].next = i + 1 < wrs.size() ? &wrs[i + 1] : nullptr;
  }
  ibv_send_wr* bad = nullptr;
  return qp_->post_send(wrs.data(), &bad);
}

void Script::post(const Wr& wr, Where at) {
  post({wr}, at);
}

void Script::post(std::initializer_list<Wr> list, Where at) {
  step("post a send request", at);
  if (const int rc = post_list(list); rc != 0) {
    fail("refused with " + std::to_string(rc) + ": " + std::string(qp_->post_error()));
  }
  settle();
}

void Script::post_refused(const Wr& wr, int error, std::string_view words, Where at) {
  step("post a send request that is refused", at);
  const int rc = post_list({wr});
  const std::string_view reason = rc != 0 ? qp_->post_error() : "it was accepted";
  if (rc != error || reason.find(words) == std::string_view::npos) {
    fail("  expected errno " + std::to_string(error) + " with \"" + std::string(words) +
         "\", seen " + std::to_string(rc) + ": " + std::string(reason));
  }
  settle();
}

int Script::post_recv(uint64_t id, size_t offset, uint32_t length, uint32_t lkey_error) {
  ibv_sge sge{at(offset), length, mr_->lkey() ^ lkey_error};
  ibv_recv_wr wr{};
  wr.wr_id = id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  return srq_ ? srq_->post_recv(&wr, &bad) : qp_->post_recv(&wr, &bad);
}

void Script::recv(uint64_t id, size_t offset, uint32_t length, Where at) {
  step("post a receive request", at);
  if (const int rc = post_recv(id, offset, length, 0); rc != 0) {
    fail("refused with " + std::to_string(rc) + ": " + std::string(qp_->post_error()));
  }
  settle();
}

void Script::recv_bad_key(uint64_t id, size_t offset, uint32_t length, Where at) {
  step("post a receive request with a wrong key", at);
  if (const int rc = post_recv(id, offset, length, 1); rc != 0) {
    fail("refused with " + std::to_string(rc) + ": " + std::string(qp_->post_error()));
  }
}

void Script::recv_refused(uint64_t id, int error, std::string_view words, Where at) {
  step("post a receive request that is refused", at);
  const int rc = post_recv(id, 0, 1, 0);
  const std::string_view reason = rc != 0 ? qp_->post_error() : "it was accepted";
  if (rc != error || reason.find(words) == std::string_view::npos) {
    fail("  expected errno " + std::to_string(error) + " with \"" + std::string(words) +
         "\", seen " + std::to_string(rc) + ": " + std::string(reason));
  }
}

void Script::modify(const ibv_qp_attr& attr, int mask, Where at) {
  step("modify the queue pair", at);
  if (const Status s = qp_->modify(attr, mask); !s) {
    fail("refused: " + s.error().reason);
  }
  settle();
}

void Script::modify_refused(const ibv_qp_attr& attr, int mask, std::string_view words, Where at) {
  step("modify the queue pair, which is refused", at);
  const ibv_qp_attr before = qp_->query();
  const Status s = qp_->modify(attr, mask);
  if (s) {
    fail("it was accepted");
  }
  if (s.error().code != EINVAL || s.error().reason.find(words) == std::string::npos) {
    fail("  expected EINVAL with \"" + std::string(words) + "\", seen " +
         std::to_string(s.error().code) + ": " + s.error().reason);
  }
  const ibv_qp_attr after = qp_->query();
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): copies of one object, padding included
  if (std::memcmp(&before, &after, sizeof before) != 0) {
    fail("it was refused, but something has changed");
  }
  settle();
}

void Script::move_to(ibv_qp_state state, Where at) {
  modify(attributes(state), IBV_QP_STATE, at);
}

Bytes Script::memory(size_t offset, size_t n) const {
  const auto from = memory_.begin() + static_cast<ptrdiff_t>(offset);
  return {from, from + static_cast<ptrdiff_t>(n)};
}

void Script::set_memory(size_t offset, const Bytes& bytes) {
  std::copy(bytes.begin(), bytes.end(), memory_.begin() + static_cast<ptrdiff_t>(offset));
}

void Script::set_word(size_t offset, uint64_t value) {
  std::memcpy(memory_.data() + offset, &value, sizeof value);
}

uint64_t Script::word(size_t offset) const {
  uint64_t value;
  std::memcpy(&value, memory_.data() + offset, sizeof value);
  return value;
}

void Script::expect_memory(size_t offset, const Bytes& bytes, Where at) {
  settle();
  where_ = at;
  ++steps_;
  step_ = "expect the memory at " + std::to_string(offset);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (memory_[offset + i] != bytes[i]) {
      fail("  byte " + std::to_string(i) + ": expected " + hex(bytes[i], 2) + ", seen " +
           hex(memory_[offset + i], 2));
    }
  }
  if (memory_[offset + bytes.size()] != initial_byte(offset + bytes.size())) {
    fail("  the byte behind has been overwritten");
  }
}

void Script::expect_memory_untouched(Where at) {
  settle();
  where_ = at;
  ++steps_;
  step_ = "expect untouched memory";
  for (size_t i = 0; i < kMemory; ++i) {
    if (memory_[i] != initial_byte(i)) {
      fail("  byte " + std::to_string(i) + " has been written");
    }
  }
}

void Script::destroy_qp() {
  qp_.reset();
}

}  // namespace roce::script
