// Engine threads: two devices, each polled by a thread of its own, driven from this one through the
// rings, the bell and the mailbox. Runs under TSan as well.
// SPDX-License-Identifier: BSD-3-Clause
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <roce/verbs.h>

#include "engine/engine.h"
#include "port/threaded_loopback_port.h"

namespace roce {
namespace {

using std::chrono::steady_clock;

class SteadyClock final : public verbs::Clock {
 public:
  Instant now() override {
    return {static_cast<uint64_t>(steady_clock::now().time_since_epoch().count())};
  }
};

Gid address_of(int side) {
  return Gid::from(Ipv4Address{{192, 0, 2, static_cast<uint8_t>(side + 1)}});
}

enum class Drive : uint8_t { thread, assisted };

/// A device with one queue pair; its engine runs, or is helped, from the start.
struct End {
  End(Port& port, const Port& peer, int side, verbs::Clock& clock, Drive drive = Drive::thread) {
    EngineConfig config;
    config.tables = {.max_qp = 16, .max_mr = 16, .max_cq = 16, .max_pd = 16};
    config.addresses.mac = port.info().mac;
    EXPECT_TRUE(config.addresses.add(address_of(side), 24));
    config.static_neighbours.emplace_back(address_of(1 - side), peer.info().mac);
    device = std::move(*verbs::Device::create(port, clock, config, {}));
    EXPECT_TRUE(drive == Drive::thread ? device->start_thread(-1) : device->start_helper());
    pd.emplace(*device->alloc_pd());
    cq.emplace(*device->create_cq(256));
    mr.emplace(*device->reg_mr(*pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE));
    ibv_qp_init_attr attr{};
    attr.qp_type = IBV_QPT_RC;
    attr.sq_sig_all = 1;
    attr.cap = {64, 64, 1, 1, 0};
    qp.emplace(*device->create_qp(*pd, *cq, *cq, attr));
  }

  void connect(const End& peer, int peer_side) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    ASSERT_TRUE(
        qp->modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = peer.qp->qpn();
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.sgid_index = 1;
    const Gid gid = address_of(peer_side);
    std::memcpy(attr.ah_attr.grh.dgid.raw, gid.bytes.data(), gid.bytes.size());
    ASSERT_TRUE(qp->modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                                     IBV_QP_MIN_RNR_TIMER));
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 18;  // a second: sanitizers and busy machines are slow
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    ASSERT_TRUE(qp->modify(attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
  }

  ibv_sge sge(size_t slot) {
    return {reinterpret_cast<uint64_t>(memory.data() + slot * kSlot), kSlot, mr->lkey()};
  }
  int send(uint64_t id) {
    ibv_sge s = sge(id % kSlots);
    ibv_send_wr wr{};
    wr.wr_id = id;
    wr.opcode = IBV_WR_SEND;
    wr.sg_list = &s;
    wr.num_sge = 1;
    ibv_send_wr* bad = nullptr;
    return qp->post_send(&wr, &bad);
  }
  int recv(uint64_t id) {
    ibv_sge s = sge(id % kSlots);
    ibv_recv_wr wr{};
    wr.wr_id = id;
    wr.sg_list = &s;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    return qp->post_recv(&wr, &bad);
  }

  static constexpr uint32_t kSlot = 2000;
  static constexpr size_t kSlots = 32;
  std::vector<uint8_t> memory = std::vector<uint8_t>(kSlots * kSlot);
  std::unique_ptr<verbs::Device> device;
  std::optional<verbs::Pd> pd;
  std::optional<verbs::Cq> cq;
  std::optional<verbs::Mr> mr;
  std::optional<verbs::Qp> qp;
};

TEST(EngineThreads, MessagesCrossTwoThreadsInOrder) {
  constexpr uint64_t kMessages = 1000;
  ThreadedLoopbackLink link;
  SteadyClock clock;
  End a(link.a(), link.b(), 0, clock);
  End b(link.b(), link.a(), 1, clock);
  a.connect(b, 1);
  b.connect(a, 0);
  for (uint64_t i = 0; i < End::kSlots; ++i) {
    ASSERT_EQ(b.recv(i), 0);
  }
  uint64_t sent = 0;
  uint64_t completed = 0;
  uint64_t received = 0;
  const auto give_up = steady_clock::now() + std::chrono::seconds(60);
  while ((received < kMessages || completed < kMessages) && steady_clock::now() < give_up) {
    while (sent < kMessages && sent - received < End::kSlots / 2 && sent - completed < 16) {
      std::memset(a.memory.data() + sent % End::kSlots * End::kSlot, static_cast<int>(sent & 0xff),
                  End::kSlot);
      ASSERT_EQ(a.send(sent++), 0);
    }
    std::array<ibv_wc, 16> wc{};
    for (int i = 0, n = a.cq->poll(wc); i < n; ++i, ++completed) {
      ASSERT_EQ(wc[static_cast<size_t>(i)].status, IBV_WC_SUCCESS);
      ASSERT_EQ(wc[static_cast<size_t>(i)].wr_id, completed);
    }
    for (int i = 0, n = b.cq->poll(wc); i < n; ++i, ++received) {
      const size_t slot = received % End::kSlots;
      ASSERT_EQ(wc[static_cast<size_t>(i)].wr_id, received);
      ASSERT_EQ(b.memory[slot * End::kSlot], received & 0xff);
      ASSERT_EQ(b.memory[slot * End::kSlot + End::kSlot - 1], received & 0xff);
      ASSERT_EQ(b.recv(received + End::kSlots), 0);
    }
    std::this_thread::yield();
  }
  EXPECT_EQ(received, kMessages);
  EXPECT_EQ(completed, kMessages);
  a.device->stop_thread();
  b.device->stop_thread();
}

TEST(EngineThreads, AQueuePairIsDestroyedUnderTraffic) {
  ThreadedLoopbackLink link;
  SteadyClock clock;
  End a(link.a(), link.b(), 0, clock);
  End b(link.b(), link.a(), 1, clock);
  a.connect(b, 1);
  b.connect(a, 0);
  for (uint64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(b.recv(i), 0);
    ASSERT_EQ(a.send(i), 0);
  }
  b.qp.reset();
  a.qp.reset();
  std::array<ibv_wc, 32> wc{};
  EXPECT_EQ(a.cq->poll(wc), 0) << "completions of a destroyed queue pair are not delivered";
  const Status again = a.device->start_thread(-1);
  EXPECT_EQ(again.error().code, EBUSY);
  EXPECT_EQ(again.error().reason, "an engine thread is running already");
}

/// Polls without a pause for so long.
void poll_for(verbs::Device& device, std::chrono::milliseconds time) {
  for (const auto end = steady_clock::now() + time; steady_clock::now() < end;) {
    device.poll();
  }
}

rusage used() {
  rusage so_far{};
  getrusage(RUSAGE_SELF, &so_far);
  return so_far;
}

TEST(AssistedEngine, TheHelperHardlyWakesWhileTheApplicationPolls) {
  ThreadedLoopbackLink link;
  SteadyClock clock;
  const End end(link.a(), link.b(), 0, clock, Drive::assisted);
  constexpr std::chrono::milliseconds kTime{200};
  const rusage before = used();
  poll_for(*end.device, kTime);
  const rusage after = used();
  // One look a millisecond; a look every 50 us would be a few thousand. When another program has
  // taken the CPU away from the polling, the helper rightly does more.
  const long taken_away = after.ru_nivcsw - before.ru_nivcsw;
  EXPECT_LE(after.ru_nvcsw - before.ru_nvcsw, 2 * kTime.count() + 20 * taken_away);
}

TEST(AssistedEngine, TheHelperTakesOverWhenTheApplicationCeasesToPoll) {
  ThreadedLoopbackLink link;
  SteadyClock clock;
  End a(link.a(), link.b(), 0, clock);
  End b(link.b(), link.a(), 1, clock, Drive::assisted);
  a.connect(b, 1);
  b.connect(a, 0);
  ASSERT_EQ(b.recv(0), 0);
  poll_for(*b.device, std::chrono::milliseconds(20));
  ASSERT_EQ(a.send(0), 0);
  ibv_wc wc{};
  const auto give_up = steady_clock::now() + std::chrono::seconds(60);
  while (a.cq->poll({&wc, 1}) == 0 && steady_clock::now() < give_up) {
    std::this_thread::yield();
  }
  EXPECT_EQ(wc.wr_id, 0u);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.qp_num, a.qp->qpn());
}

}  // namespace
}  // namespace roce
