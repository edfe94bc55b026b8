// Devices that share a port's addresses, over steered ports: any two queue pairs reach each other,
// wherever the network puts their packets.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <roce/verbs.h>

#include "engine/engine.h"
#include "port/faulty_port.h"
#include "sim/sim_pair.h"
#include "steering/node.h"

namespace roce::test {
namespace {

constexpr uint32_t kEngines = 3;
constexpr size_t kBytes = 20'000;

/// One device of a node with what a connection needs.
struct Party {
  explicit Party(verbs::Device& d)
      : device(d),
        pd(*d.alloc_pd()),
        cq(*d.create_cq(64)),
        mr(*d.reg_mr(pd, memory.data(), memory.size(),
                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)) {}

  verbs::Qp create_qp(ibv_qp_type type) {
    ibv_qp_init_attr init{};
    init.qp_type = type;
    init.cap = {16, 16, 1, 1, 0};
    init.sq_sig_all = 1;
    return *device.create_qp(pd, cq, cq, init);
  }
  ibv_sge sge(size_t offset, size_t length) const {
    return {reinterpret_cast<uint64_t>(memory.data() + offset), static_cast<uint32_t>(length),
            mr.lkey()};
  }

  verbs::Device& device;
  verbs::Pd pd;
  verbs::Cq cq;
  std::vector<uint8_t> memory = std::vector<uint8_t>(4 * kBytes);
  verbs::Mr mr;
};

class SteeredEngines : public testing::Test {
 protected:
  SteeredEngines() { build({}); }

  void build(const FaultConfig& faults) {
    devices_ = {};
    ports_ = {};
    nodes_ = std::make_unique<TwoNodes>(kEngines);
    for (uint8_t node = 0; node < 2; ++node) {
      for (uint32_t i = 0; i < kEngines; ++i) {
        FaultConfig own = faults;
        own.seed = 10 * node + i + 1;
        ports_[node].push_back(std::make_unique<FaultyPort>(*nodes_->ports[node][i], own));
        EngineConfig config;
        config.tables = {.max_qp = 64, .max_mr = 64};
        config.held_packets = 64;
        config.place = {i, kEngines};
        config.addresses.mac = TwoNodes::mac(node);
        EXPECT_TRUE(config.addresses.add(address(node), 24));
        verbs::DeviceConfig device;
        device.while_waiting = [this] { step(); };
        auto created = verbs::Device::create(*ports_[node][i], clock_, config, device);
        EXPECT_TRUE(created);
        devices_[node].push_back(std::move(*created));
      }
    }
  }

  static Gid address(uint8_t node) {
    return Gid::from(Ipv4Address{{192, 0, 2, static_cast<uint8_t>(node + 1)}});
  }
  ibv_ah_attr way_to(uint8_t node) {
    ibv_ah_attr ah{};
    ah.is_global = 1;
    ah.port_num = 1;
    ah.grh.sgid_index = 1;
    std::memcpy(ah.grh.dgid.raw, address(node).bytes.data(), sizeof ah.grh.dgid.raw);
    return ah;
  }

  void step() {
    for (auto& node : devices_) {
      for (auto& device : node) {
        device->poll();
      }
    }
    clock_.set(clock_.now() + Duration::from_us(2));
  }
  /// The next completion of `party`, or one with an error after a second.
  ibv_wc next(Party& party) {
    ibv_wc wc{};
    const Instant end = clock_.now() + Duration::from_s(1);
    while (party.cq.poll({&wc, 1}) == 0) {
      if (clock_.now() > end) {
        wc.status = IBV_WC_GENERAL_ERR;
        return wc;
      }
      step();
    }
    return wc;
  }

  /// A SEND, a WRITE and a READ of many packets from one queue pair to the other.
  void exchange(Party& a, Party& b, uint8_t node_a, uint8_t node_b, const std::string& what) {
    verbs::Qp qp_a = a.create_qp(IBV_QPT_RC);
    verbs::Qp qp_b = b.create_qp(IBV_QPT_RC);
    sim::RcParameters p;
    p.timeout = 10;
    ASSERT_EQ(sim::connect(qp_a, qp_b, way_to(node_a), way_to(node_b), p), "") << what;
    for (size_t i = 0; i < kBytes; ++i) {
      a.memory[i] = static_cast<uint8_t>(++filling_ >> 3);
    }
    std::fill(b.memory.begin(), b.memory.end(), uint8_t{0});
    ibv_sge into = b.sge(0, kBytes);
    ibv_recv_wr receive{1, nullptr, &into, 1};
    ibv_recv_wr* bad_receive = nullptr;
    ASSERT_EQ(qp_b.post_recv(&receive, &bad_receive), 0);
    for (const auto& [opcode, from, to] : {std::tuple{IBV_WR_SEND, size_t{0}, size_t{0}},
                                           std::tuple{IBV_WR_RDMA_WRITE, size_t{0}, kBytes},
                                           std::tuple{IBV_WR_RDMA_READ, kBytes, kBytes}}) {
      ibv_sge sge = a.sge(from, kBytes);
      ibv_send_wr wr{};
      wr.opcode = opcode;
      wr.sg_list = &sge;
      wr.num_sge = 1;
      wr.wr.rdma = {reinterpret_cast<uint64_t>(b.memory.data() + to), b.mr.rkey()};
      ibv_send_wr* bad = nullptr;
      ASSERT_EQ(qp_a.post_send(&wr, &bad), 0);
      ASSERT_EQ(next(a).status, IBV_WC_SUCCESS) << what << " opcode " << opcode;
    }
    ASSERT_EQ(next(b).byte_len, kBytes) << what;
    const auto filled = a.memory.begin() + static_cast<ptrdiff_t>(kBytes);
    EXPECT_TRUE(std::equal(a.memory.begin(), filled, b.memory.begin())) << what;
    EXPECT_TRUE(std::equal(a.memory.begin(), filled, b.memory.begin() + kBytes)) << what;
    EXPECT_TRUE(std::equal(a.memory.begin(), filled, filled)) << what;
  }
  void exchange_all() {
    std::vector<std::unique_ptr<Party>> parties;
    for (auto& node : devices_) {
      for (auto& device : node) {
        parties.push_back(std::make_unique<Party>(*device));
      }
    }
    for (uint8_t i = 0; i < parties.size(); ++i) {
      for (uint8_t k = 0; k < parties.size(); ++k) {
        if (i != k) {
          exchange(*parties[i], *parties[k], i / kEngines, k / kEngines,
                   std::to_string(i) + " to " + std::to_string(k));
        }
      }
    }
  }
  uint64_t handed_over(uint8_t node) {
    uint64_t sum = 0;
    for (auto& device : devices_[node]) {
      sum += device->port_stats().rx_handed_over;
    }
    return sum;
  }

  sim::VirtualClock clock_;
  std::unique_ptr<TwoNodes> nodes_;
  std::array<std::vector<std::unique_ptr<Port>>, 2> ports_;
  std::array<std::vector<std::unique_ptr<verbs::Device>>, 2> devices_;
  uint32_t filling_ = 0;
};

TEST_F(SteeredEngines, ReachEachOtherWhenTheNetworkKeepsTheQueues) {
  exchange_all();
}

TEST_F(SteeredEngines, ReachEachOtherWhenAllArrivesOnOneQueue) {
  nodes_->wire.arrives_on = [](uint32_t) { return 2; };
  exchange_all();
  EXPECT_GT(handed_over(0), 0u);
}

TEST_F(SteeredEngines, ReachEachOtherWhenPacketsTakeTheQueuesInTurn) {
  uint32_t turn = 0;
  nodes_->wire.arrives_on = [&](uint32_t) { return turn++ % kEngines; };
  exchange_all();
}

TEST_F(SteeredEngines, RecoverFromLosses) {
  FaultConfig faults;
  faults.loss = 0.02;
  build(faults);
  nodes_->wire.arrives_on = [](uint32_t i) { return (i + 1) % kEngines; };
  exchange_all();
}

TEST_F(SteeredEngines, OnlyTheSteeredFramesOfTheRightEngineAreNotHandedOver) {
  Party a(*devices_[0][1]);
  Party b(*devices_[1][1]);
  exchange(a, b, 0, 1, "1 to 1");
  EXPECT_EQ(handed_over(0) + handed_over(1), 0u);
  EXPECT_EQ(devices_[0][0]->counters().dropped + devices_[0][2]->counters().dropped, 0u);
}

TEST_F(SteeredEngines, ADatagramReachesAnotherEngineOfTheNode) {
  Party a(*devices_[0][0]);
  Party b(*devices_[0][2]);
  verbs::Qp from = a.create_qp(IBV_QPT_UD);
  verbs::Qp to = b.create_qp(IBV_QPT_UD);
  sim::RcParameters p;
  p.type = IBV_QPT_UD;
  ASSERT_EQ(sim::connect(from, to, {}, {}, p), "");
  ibv_sge into = b.sge(0, 1000);
  ibv_recv_wr receive{7, nullptr, &into, 1};
  ibv_recv_wr* bad_receive = nullptr;
  ASSERT_EQ(to.post_recv(&receive, &bad_receive), 0);
  const auto ah = a.device.create_ah(a.pd, way_to(0));
  ASSERT_TRUE(ah);
  ibv_sge sge = a.sge(0, 500);
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.wr.ud = {ah->ibv(), to.qpn(), p.qkey};
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(from.post_send(&wr, &bad), 0);
  EXPECT_EQ(next(a).status, IBV_WC_SUCCESS);
  EXPECT_EQ(next(b).wr_id, 7u);
}

TEST_F(SteeredEngines, APeerOnAnotherEngineIsAnsweredAfterTheEnd) {
  Party a(*devices_[0][0]);
  Party b(*devices_[0][2]);
  verbs::Qp from = a.create_qp(IBV_QPT_RC);
  auto to = std::make_unique<verbs::Qp>(b.create_qp(IBV_QPT_RC));
  sim::RcParameters p;
  p.timeout = 10;
  ASSERT_EQ(sim::connect(from, *to, way_to(0), way_to(0), p), "");
  ibv_sge sge = a.sge(0, 100);
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.wr.rdma = {reinterpret_cast<uint64_t>(b.memory.data()), b.mr.rkey()};
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(from.post_send(&wr, &bad), 0);
  devices_[0][0]->poll();
  devices_[0][2]->poll();  // executed and acknowledged
  to.reset();
  std::array<Frame, 4> lost;
  const size_t count = nodes_->ports[0][0]->rx_burst(clock_.now(), lost);
  ASSERT_GT(count, 0u);
  nodes_->ports[0][0]->release(std::span(lost).first(count));
  EXPECT_GT(devices_[0][2]->peers_may_ask_until(), clock_.now());
  EXPECT_EQ(next(a).status, IBV_WC_SUCCESS);
}

TEST_F(SteeredEngines, WhoIsAskedAnswersAlone) {
  Party a(*devices_[0][1]);
  Party b(*devices_[1][2]);
  exchange(a, b, 0, 1, "1 to 2");
  EXPECT_EQ(ports_[1][1]->stats().tx_frames, 1u);  // it had the request on its queue
}

TEST_F(SteeredEngines, ADatagramToAGroupReachesMembersOfEveryEngineOnce) {
  const Gid group = Gid::from(Ipv4Address{{239, 1, 2, 3}});
  ibv_gid gid{};
  std::memcpy(gid.raw, group.bytes.data(), sizeof gid.raw);
  std::vector<std::unique_ptr<Party>> parties;
  std::vector<verbs::Qp> qps;
  for (auto& node : devices_) {
    for (auto& device : node) {
      parties.push_back(std::make_unique<Party>(*device));
      Party& party = *parties.back();
      qps.push_back(party.create_qp(IBV_QPT_UD));
      verbs::Qp peer = party.create_qp(IBV_QPT_UD);
      sim::RcParameters p;
      p.type = IBV_QPT_UD;
      ASSERT_EQ(sim::connect(qps.back(), peer, {}, {}, p), "");
      ASSERT_TRUE(qps.back().attach_mcast(gid));
      for (uint64_t id = 0; id < 2; ++id) {
        ibv_sge into = party.sge(id * 2000, 2000);
        ibv_recv_wr receive{id, nullptr, &into, 1};
        ibv_recv_wr* bad = nullptr;
        ASSERT_EQ(qps.back().post_recv(&receive, &bad), 0);
      }
    }
  }
  Party& sender = *parties[1];
  ibv_ah_attr attr = way_to(0);
  attr.grh.dgid = gid;
  const auto ah = sender.device.create_ah(sender.pd, attr);
  ASSERT_TRUE(ah);
  std::fill_n(sender.memory.begin() + 10'000, 500, uint8_t{0x5a});
  ibv_sge sge = sender.sge(10'000, 500);
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.wr.ud = {ah->ibv(), kMulticastQpn, 0x11111111};
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(qps[1].post_send(&wr, &bad), 0);
  EXPECT_EQ(next(sender).status, IBV_WC_SUCCESS);
  for (int i = 0; i < 100; ++i) {
    step();
  }
  for (size_t i = 0; i < parties.size(); ++i) {
    ibv_wc wc[4];
    const int expected = i == 1 ? 0 : 1;
    EXPECT_EQ(parties[i]->cq.poll(wc), expected) << i;
    EXPECT_EQ(parties[i]->memory[40], expected == 0 ? 0 : 0x5a) << i;
  }
  // Who leaves says nothing, since others of the node stay; and a copy too many is no drop.
  std::array<uint64_t, 2> sent{};
  for (uint8_t i = 0; i < 2; ++i) {
    sent[i] = ports_[0][i]->stats().tx_frames;
    ASSERT_TRUE(qps[i].detach_mcast(gid));
  }
  for (int i = 0; i < 100; ++i) {
    step();
  }
  EXPECT_EQ(ports_[0][0]->stats().tx_frames, sent[0]);
  EXPECT_EQ(ports_[0][1]->stats().tx_frames, sent[1]);
  ASSERT_EQ(qps[1].post_send(&wr, &bad), 0);
  EXPECT_EQ(next(sender).status, IBV_WC_SUCCESS);
  for (int i = 0; i < 100; ++i) {
    step();
  }
  EXPECT_EQ(devices_[0][0]->counters().drops_of(DropReason::unknown_group), 0u);
  ibv_wc wc[4];
  EXPECT_EQ(parties[2]->cq.poll(wc), 1);
}

}  // namespace
}  // namespace roce::test
