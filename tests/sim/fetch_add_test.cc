// A million fetch-adds from four queue pairs over a bad wire: each is executed exactly once (rule
// R5), so the results are a permutation of 0 .. 999,999 and the sum is exact.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "sim/sim_pair.h"

namespace roce::sim {
namespace {

constexpr size_t kQueuePairs = 4;
constexpr size_t kEach = 250'000;
constexpr uint32_t kDepth = 64;

/// One requester, and the results that it has got.
struct Adder {
  Adder(verbs::Device& device, const verbs::Pd& pd, const verbs::Cq& cq)
      : qp(*device.create_qp(pd, cq, cq, attr())) {}

  static ibv_qp_init_attr attr() {
    ibv_qp_init_attr a{};
    a.qp_type = IBV_QPT_RC;
    a.sq_sig_all = 1;
    a.cap = {kDepth, 1, 1, 1, 0};
    return a;
  }

  void post(uint64_t* slots, uint32_t lkey, uint64_t target, uint32_t rkey) {
    while (posted < kEach && posted - completed < kDepth) {
      ibv_sge sge{reinterpret_cast<uint64_t>(&slots[posted % kDepth]), 8, lkey};
      ibv_send_wr wr{};
      wr.wr_id = posted % kDepth;
      wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
      wr.sg_list = &sge;
      wr.num_sge = 1;
      wr.wr.atomic.remote_addr = target;
      wr.wr.atomic.rkey = rkey;
      wr.wr.atomic.compare_add = 1;
      ibv_send_wr* bad = nullptr;
      ASSERT_EQ(qp.post_send(&wr, &bad), 0);
      ++posted;
    }
  }

  verbs::Qp qp;
  size_t posted = 0;
  size_t completed = 0;
};

TEST(FetchAdd, R5_AMillionOverABadWireAreEachExecutedOnce) {
  SimOptions options;
  options.faults.loss = 0.05;
  options.faults.duplicate = 0.05;
  SimPair pair(options);
  verbs::Device& near = pair.device(0);
  verbs::Device& far = pair.device(1);
  const verbs::Pd pd = *near.alloc_pd();
  const verbs::Pd far_pd = *far.alloc_pd();
  verbs::Cq cq = *near.create_cq(kQueuePairs * kDepth);
  const verbs::Cq far_cq = *far.create_cq(16);
  std::vector<uint64_t> results(kQueuePairs * kDepth);
  alignas(8) uint64_t counter = 0;
  const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  const verbs::Mr mr = *near.reg_mr(pd, results.data(), results.size() * 8, access);
  const verbs::Mr far_mr = *far.reg_mr(far_pd, &counter, sizeof counter, access);
  std::vector<Adder> adders;
  std::vector<verbs::Qp> answering;
  RcParameters parameters;
  parameters.rd_atomic = 16;
  for (size_t i = 0; i < kQueuePairs; ++i) {
    adders.emplace_back(near, pd, cq);
    answering.push_back(*far.create_qp(far_pd, far_cq, far_cq, Adder::attr()));
    parameters.psn[0] = static_cast<uint32_t>(0xfffff0 - i);
    ASSERT_EQ(connect_rc(pair, adders[i].qp, answering[i], parameters), "");
  }
  std::vector<bool> seen(kQueuePairs * kEach);
  size_t done = 0;
  const auto turn = [&] {
    ibv_wc wc[64];
    for (int n = cq.poll(wc), i = 0; i < n; ++i) {
      ASSERT_EQ(wc[i].status, IBV_WC_SUCCESS);
      size_t which = 0;
      while (adders[which].qp.qpn() != wc[i].qp_num) {
        ++which;
      }
      const uint64_t value = results[which * kDepth + wc[i].wr_id];
      ASSERT_LT(value, seen.size());
      ASSERT_FALSE(seen[value]) << value << " was given twice";
      seen[value] = true;
      ++adders[which].completed;
      ++done;
    }
    for (size_t i = 0; i < kQueuePairs; ++i) {
      adders[i].post(&results[i * kDepth], mr.lkey(), reinterpret_cast<uint64_t>(&counter),
                     far_mr.rkey());
    }
  };
  ASSERT_TRUE(pair.run_until(
      [&] {
        turn();
        return done == seen.size() || testing::Test::HasFatalFailure();
      },
      Duration::from_s(3600)));
  EXPECT_EQ(counter, seen.size());
}

}  // namespace
}  // namespace roce::sim
