// The simulated wire and the way two queue pairs get connected on it.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/sim_pair.h"

#include <algorithm>

#include "attribute_mask.h"

namespace roce::sim {
namespace {

constexpr Duration kTurn = Duration::from_us(1);
constexpr Duration kIdleTurn = Duration::from_us(10);

Gid gid_of(int side) {
  return Gid::from(Ipv4Address{{192, 0, 2, static_cast<uint8_t>(side + 1)}});
}

}  // namespace

SimPair::SimPair(const SimOptions& options) : link_({.mtu = options.port_mtu}) {
  for (int side = 0; side < 2; ++side) {
    FaultConfig faults = options.faults;
    faults.seed = options.seed * 2 + static_cast<uint64_t>(side);
    ports_[side] = std::make_unique<FaultyPort>(side == 0 ? link_.a() : link_.b(), faults);
  }
  for (int side = 0; side < 2; ++side) {
    EngineConfig config;
    config.tables = {.max_qp = options.max_qp, .max_mr = 256};
    config.held_packets = options.held_packets[side];
    config.addresses.mac = ports_[side]->info().mac;
    config.addresses.vlan = options.vlan;
    const Status added = config.addresses.add(gid_of(side), 24);
    ROCE_CHECK(added.has_value());
    config.static_neighbours.emplace_back(gid_of(1 - side), ports_[1 - side]->info().mac);
    verbs::DeviceConfig device;
    device.window_packets = options.window_packets;
    device.dcqcn_line_rate = options.dcqcn_line_rate;
    device.while_waiting = [this] { step(); };
    auto created = verbs::Device::create(*ports_[side], clock_, config, device);
    ROCE_CHECK(created.has_value());
    devices_[side] = std::move(*created);
  }
}

ibv_ah_attr SimPair::address_of(int side, int gid_index) {
  ibv_ah_attr ah{};
  ah.is_global = 1;
  ah.port_num = 1;
  ah.grh.sgid_index = static_cast<uint8_t>(gid_index);
  ah.grh.dgid = *device(side).query_gid(1, gid_index);
  return ah;
}

void SimPair::step() {
  devices_[0]->poll();
  devices_[1]->poll();
  const Instant next = std::min(devices_[0]->next_event(), devices_[1]->next_event());
  const Instant soon = clock_.now() + kTurn;
  // With nothing due, time still moves: the caller decides when to give up.
  clock_.set(next == kNever ? clock_.now() + kIdleTurn : std::max(next, soon));
}

std::string connect_rc(SimPair& pair, verbs::Qp& a, verbs::Qp& b, const RcParameters& p) {
  return connect(a, b, pair.address_of(0, p.gid_index),
                 pair.address_of(p.loops_back ? 0 : 1, p.gid_index), p);
}

std::string connect(verbs::Qp& a, verbs::Qp& b, const ibv_ah_attr& to_a, const ibv_ah_attr& to_b,
                    const RcParameters& p) {
  verbs::Qp* qps[2] = {&a, &b};
  for (int side = 0; side < 2; ++side) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qkey = p.qkey;
    attr.qp_access_flags = static_cast<unsigned>(p.access);
    const Status s = qps[side]->modify(attr, test::attribute_mask(p.type, attr.qp_state));
    if (!s) {
      return s.error().reason;
    }
  }
  for (int side = 0; side < 2; ++side) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = p.pmtu;
    attr.dest_qp_num = qps[1 - side]->qpn();
    attr.rq_psn = p.psn[1 - side];
    attr.max_dest_rd_atomic = p.rd_atomic;
    attr.min_rnr_timer = p.min_rnr_timer;
    attr.ah_attr = side == 0 ? to_b : to_a;
    attr.ah_attr.grh.traffic_class = p.traffic_class;
    Status s = qps[side]->modify(attr, test::attribute_mask(p.type, attr.qp_state));
    if (!s) {
      return s.error().reason;
    }
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = p.timeout;
    attr.retry_cnt = p.retry_cnt;
    attr.rnr_retry = p.rnr_retry;
    attr.sq_psn = p.psn[side];
    attr.max_rd_atomic = p.rd_atomic;
    s = qps[side]->modify(attr, test::attribute_mask(p.type, attr.qp_state));
    if (!s) {
      return s.error().reason;
    }
  }
  return {};
}

}  // namespace roce::sim
