// Set-up and the steps that make the device do something.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <gtest/gtest.h>

#include "script/script.h"
#include "script/words.h"
#include "wire/icrc.h"

namespace roce::script {
namespace {

constexpr MacAddress kPeerMac{{0x02, 0, 0, 0, 0, 2}};
constexpr uint16_t kPeerSourcePort = 0xc321;
constexpr uint8_t kDefaultHopLimit = 64;

constexpr Ipv4Address ipv4_of(bool peer) {
  return {{192, 0, 2, static_cast<uint8_t>(peer ? 2 : 1)}};
}
constexpr Ipv6Address ipv6_of(bool peer) {
  return {{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
           static_cast<uint8_t>(peer ? 2 : 1)}};
}

uint8_t initial_byte(size_t offset) {
  return static_cast<uint8_t>(offset * 13 + offset / 256 * 5 + 3);
}

/// Written from protocol-and-verbs.md 5.2, apart from the library's own.
uint16_t source_port(uint32_t flow_label, uint64_t local_qpn, uint64_t remote_qpn) {
  uint64_t fl = flow_label;
  if (fl == 0) {
    uint64_t v = local_qpn * remote_qpn;
    v ^= v >> 20;
    v ^= v >> 40;
    fl = v & 0xfffff;
  }
  return static_cast<uint16_t>(((fl & 0x3fff) ^ ((fl & 0xfc000) >> 14)) | 0xc000);
}

/// Another pad, and the lengths, checksum and ICRC that go with it.
void change_pad(wire::Fields& f, size_t pad) {
  f.pad.assign(pad, 0);
  f.bth.pad_count = static_cast<uint8_t>(pad);
  const size_t headers = wire::kOpcodes[f.bth.opcode].headers_len;
  f.udp.length = static_cast<uint16_t>(wire::UdpHeader::kSize + headers + f.payload.size() + pad +
                                       wire::kIcrcSize);
  if (auto* v6 = std::get_if<wire::Ipv6Header>(&f.ip)) {
    v6->payload_length = f.udp.length;
  } else {
    auto& v4 = std::get<wire::Ipv4Header>(f.ip);
    v4.total_length = static_cast<uint16_t>(wire::Ipv4Header::kSize + f.udp.length);
    v4.checksum = 0;
    uint8_t bytes[wire::Ipv4Header::kSize];
    v4.emit(bytes);
    v4.checksum = wire::Ipv4Header::checksum_of(bytes);
  }
  const Bytes frame = wire::emit(f);
  const size_t l3 = wire::EthernetHeader::kSize + (f.vlan ? wire::VlanTag::kSize : 0);
  f.icrc = wire::icrc_finish(
      wire::icrc_of_headers(frame.data() + l3, frame.size() - l3 - wire::kIcrcSize));
}

/// E7: a window's worth of packets asks for four ACKs at least.
bool ack_is_due(Psn psn, uint32_t window) {
  const uint32_t interval = std::bit_floor(std::max(window / 4, 1u));
  return psn.value() % interval == interval - 1;
}

wire::Transport transport_of(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_UC:
      return wire::Transport::uc;
    case IBV_QPT_UD:
      return wire::Transport::ud;
    default:
      return wire::Transport::rc;
  }
}

Gid gid_of(const Setup& setup, bool peer) {
  return setup.ipv6 ? Gid::from(ipv6_of(peer)) : Gid::from(ipv4_of(peer));
}

}  // namespace

void Script::make_device() {
  port_ = std::make_unique<ScriptedPort>(setup_.port_mtu);
  EngineConfig config;
  config.tables = {.max_qp = 16, .max_mr = 64};
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
  auto qp = device_->create_qp(*pd_, *send_cq_, *recv_cq_, init);
  if (!qp) {
    fail("no queue pair: " + qp.error().reason);
  }
  qp_.emplace(std::move(*qp));
  qpn_ = qp_->qpn();
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
  a.qkey = 0x11111111;
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
  const bool rc = setup_.type == IBV_QPT_RC;
  const bool ud = setup_.type == IBV_QPT_UD;
  switch (state) {
    case IBV_QPS_INIT:
      return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
             (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
    case IBV_QPS_RTR:
      return IBV_QP_STATE |
             (ud ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN) |
             (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
    case IBV_QPS_RTS:
      return IBV_QP_STATE | IBV_QP_SQ_PSN |
             (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
                 : 0);
    default:
      return IBV_QP_STATE;
  }
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
  if (state > IBV_QPS_RTS) {
    modify(attributes(state), IBV_QP_STATE, at);
  }
}

void Script::add_addresses(wire::Fields& f, bool from_peer) const {
  const MacAddress own = port_->info().mac;
  const uint16_t ip_type = setup_.ipv6 ? wire::kEtherTypeIpv6 : wire::kEtherTypeIpv4;
  f.ethernet.destination = from_peer ? own : kPeerMac;
  f.ethernet.source = from_peer ? kPeerMac : own;
  f.ethernet.ethertype = setup_.vlan ? wire::kEtherTypeVlan : ip_type;
  if (setup_.vlan) {
    f.vlan = wire::VlanTag{setup_.sl, false, *setup_.vlan, ip_type};
  }
  const uint8_t hops = setup_.hop_limit == 0 ? kDefaultHopLimit : setup_.hop_limit;
  if (setup_.ipv6) {
    wire::Ipv6Header ip;
    ip.traffic_class = setup_.traffic_class;
    ip.flow_label = setup_.flow_label;
    ip.hop_limit = hops;
    ip.source = ipv6_of(from_peer);
    ip.destination = ipv6_of(!from_peer);
    f.ip = ip;
  } else {
    wire::Ipv4Header ip;
    ip.tos = setup_.traffic_class;
    ip.ttl = hops;
    ip.source = ipv4_of(from_peer);
    ip.destination = ipv4_of(!from_peer);
    f.ip = ip;
  }
  f.udp.source_port = from_peer ? kPeerSourcePort : source_port(setup_.flow_label, qpn_, kPeerQpn);
}

wire::Fields Script::fields_of(const Pkt& p, bool from_peer) const {
  wire::Fields f = p.fields;
  add_addresses(f, from_peer);
  f.bth.opcode = p.opcode.value_or(wire::opcode_of(transport_of(setup_.type), p.operation));
  f.bth.dest_qp = from_peer ? qpn_ : kPeerQpn;
  // Responses count from the first PSN of the other direction's requests.
  const bool is_response = wire::kOpcodes[f.bth.opcode].verb == wire::Verb::response;
  const uint32_t start = from_peer != is_response ? info_.peer_psn : info_.device_psn;
  f.bth.psn = Psn(start + static_cast<uint32_t>(p.psn));
  if (!from_peer && !is_response) {
    f.bth.ack_req |= ack_is_due(f.bth.psn, setup_.window);
  }
  for (const auto& edit : p.edits) {
    edit(f);
  }
  wire::complete(f);
  if (p.pad_length) {
    change_pad(f, *p.pad_length);
  }
  for (const auto& spoil : p.spoils) {
    spoil(f);
  }
  return f;
}

Bytes Script::frame_of(const Pkt& p) const {
  Bytes frame = wire::emit(fields_of(p, true));
  for (const auto& spoil : p.raw_spoils) {
    spoil(frame);
  }
  return frame;
}

void Script::inject(std::initializer_list<Pkt> packets, Where at) {
  inject(std::vector<Pkt>(packets), at);
}

void Script::inject(const std::vector<Pkt>& packets, Where at) {
  std::string what = "inject";
  for (const Pkt& p : packets) {
    what += " [" + in_words(fields_of(p, true)) + "]";
  }
  step(std::move(what), at);
  for (const Pkt& p : packets) {
    port_->put(frame_of(p));
  }
  settle();
}

void Script::inject_frame(Bytes frame, Where at) {
  step("inject a frame", at);
  port_->put(std::move(frame));
  settle();
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
  return qp_->post_recv(&wr, &bad);
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
