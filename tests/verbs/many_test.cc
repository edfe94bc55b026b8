// Ten thousand connected queue pairs in one endpoint (limits: spec/protocol-and-verbs.md 4.4).
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "base/prng.h"
#include "sim/sim_pair.h"

namespace roce::sim {
namespace {

TEST(ManyQueuePairs, TenThousandConnectedOnesCarryMessages) {
  constexpr size_t kPairs = 5'000;
  constexpr int kMessages = 2'000;
  SimOptions options;
  options.max_qp = 2 * kPairs;
  SimPair pair(options);
  verbs::Device& device = pair.device(0);
  const verbs::Pd pd = *device.alloc_pd();
  verbs::Cq cq = *device.create_cq(4096);
  std::vector<uint8_t> memory(4096, 0x5a);
  const verbs::Mr mr = *device.reg_mr(pd, memory.data(), memory.size(),
                                      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  ibv_qp_init_attr attr{};
  attr.qp_type = IBV_QPT_RC;
  attr.sq_sig_all = 1;
  attr.cap = {2, 2, 1, 1, 0};
  std::vector<verbs::Qp> near;
  std::vector<verbs::Qp> far;
  RcParameters parameters;
  parameters.loops_back = true;
  parameters.rd_atomic = 1;
  for (size_t i = 0; i < kPairs; ++i) {
    near.push_back(*device.create_qp(pd, cq, cq, attr));
    far.push_back(*device.create_qp(pd, cq, cq, attr));
    ASSERT_EQ(connect_rc(pair, near.back(), far.back(), parameters), "");
  }
  EXPECT_FALSE(device.create_qp(pd, cq, cq, attr)) << "the limit is enforced";

  Prng prng(1);
  int done = 0;
  for (int i = 0; i < kMessages; ++i) {
    ibv_sge sge{reinterpret_cast<uint64_t>(memory.data()), 8, mr.lkey()};
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.wr.rdma = {reinterpret_cast<uint64_t>(memory.data()) + 64, mr.rkey()};
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(near[prng.next() % kPairs].post_send(&wr, &bad), 0);
    ASSERT_TRUE(pair.run_until(
        [&] {
          ibv_wc wc{};
          const int n = cq.poll({&wc, 1});
          done += n > 0 && wc.status == IBV_WC_SUCCESS ? 1 : 0;
          return n > 0;
        },
        Duration::from_ms(10)));
  }
  EXPECT_EQ(done, kMessages);
}

}  // namespace
}  // namespace roce::sim
