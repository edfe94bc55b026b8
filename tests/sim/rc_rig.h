// RcRig: a simulated pair with one connected RC queue pair, one completion queue and one memory
// region a side, and short ways to post and to collect. For tests of single behaviours.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "sim/sim_pair.h"

namespace roce::sim {

struct RigOptions {
  SimOptions sim;
  RcParameters rc;
  ibv_qp_cap cap{64, 64, 4, 4, 64};
  int cq_entries = 256;
  bool signal_all = true;
  uint32_t srq_entries = 0;  // above 0: receives go through a shared queue of that size
  size_t memory = 1u << 20;
  int mr_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
};

/// One end.
struct RigSide {
  RigSide(verbs::Device& d, const RigOptions& o, uint8_t fill)
      : device(d),
        pd(*device.alloc_pd()),
        cq(*device.create_cq(o.cq_entries)),
        memory(o.memory, fill),
        mr(*device.reg_mr(pd, memory.data(), memory.size(), o.mr_access)),
        srq(o.srq_entries > 0 ? std::optional(*device.create_srq(pd, {o.srq_entries, 4, 0}))
                              : std::nullopt),
        qp(*device.create_qp(pd, cq, cq, init(o), srq ? &*srq : nullptr)) {}

  static ibv_qp_init_attr init(const RigOptions& o) {
    ibv_qp_init_attr attr{};
    attr.qp_type = o.rc.type;
    attr.cap = o.cap;
    attr.sq_sig_all = o.signal_all ? 1 : 0;
    return attr;
  }

  ibv_sge sge(size_t offset, size_t length) const {
    return {reinterpret_cast<uint64_t>(memory.data() + offset), static_cast<uint32_t>(length),
            mr.lkey()};
  }
  uint64_t address(size_t offset) const {
    return reinterpret_cast<uint64_t>(memory.data() + offset);
  }

  int recv(uint64_t id, size_t offset, size_t length) {
    return srq ? recv_on(*srq, id, offset, length) : recv_on(qp, id, offset, length);
  }
  /// The same to another queue pair or shared queue of this side.
  template <class Queue>
  int recv_on(Queue& queue, uint64_t id, size_t offset, size_t length) const {
    ibv_sge s = sge(offset, length);
    ibv_recv_wr wr{id, nullptr, &s, 1};
    ibv_recv_wr* bad = nullptr;
    return queue.post_recv(&wr, &bad);
  }

  /// A request with one SGE; the caller may change it before post().
  ibv_send_wr request(uint64_t id, ibv_wr_opcode opcode, size_t offset, size_t length) {
    scratch = sge(offset, length);
    ibv_send_wr wr{};
    wr.wr_id = id;
    wr.opcode = opcode;
    wr.sg_list = &scratch;
    wr.num_sge = 1;
    return wr;
  }
  int post(ibv_send_wr wr) {
    ibv_send_wr* bad = nullptr;
    return qp.post_send(&wr, &bad);
  }
  int send(uint64_t id, size_t offset, size_t length) {
    return post(request(id, IBV_WR_SEND, offset, length));
  }
  int rdma(uint64_t id, ibv_wr_opcode opcode, size_t offset, size_t length, const RigSide& peer,
           size_t to) {
    ibv_send_wr wr = request(id, opcode, offset, length);
    wr.wr.rdma.remote_addr = peer.address(to);
    wr.wr.rdma.rkey = peer.mr.rkey();
    return post(wr);
  }

  verbs::Device& device;
  verbs::Pd pd;
  verbs::Cq cq;
  std::vector<uint8_t> memory;
  verbs::Mr mr;
  std::optional<verbs::Srq> srq;
  verbs::Qp qp;
  ibv_sge scratch{};
  std::vector<ibv_wc> done;  // everything collected so far
};

class RcRig {
 public:
  explicit RcRig(const RigOptions& options = {})
      : pair(options.sim), a(pair.device(0), options, 0xaa), b(pair.device(1), options, 0xbb) {
    EXPECT_EQ(connect_rc(pair, a.qp, b.qp, options.rc), "");
  }

  /// Lets time run until side a has `of_a` and side b `of_b` completions in all, or `budget` is
  /// over.
  bool collect(size_t of_a, size_t of_b, Duration budget = Duration::from_s(2)) {
    return pair.run_until(
        [&] {
          drain(a);
          drain(b);
          return a.done.size() >= of_a && b.done.size() >= of_b;
        },
        budget);
  }
  /// Takes what is complete by now.
  void drain() {
    drain(a);
    drain(b);
  }
  /// Lets `span` of virtual time go by.
  void pass(Duration span) {
    pair.run_until([] { return false; }, span);
    drain(a);
    drain(b);
  }

  SimPair pair;
  RigSide a;
  RigSide b;

 private:
  static void drain(RigSide& side) {
    ibv_wc wc[16];
    int n;
    while ((n = side.cq.poll(wc)) > 0) {
      side.done.insert(side.done.end(), wc, wc + n);
    }
  }
};

}  // namespace roce::sim
