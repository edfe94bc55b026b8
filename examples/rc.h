// A reliable connection between two processes, as most of the examples need one: memory, one
// completion queue, one queue pair. Owner: the examples. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

#include "common.h"

namespace example {

/// What the other end has to know. Plain bytes: it goes over TCP as it is.
struct Way {
  ibv_gid gid{};
  uint32_t qpn = 0;
  uint32_t psn = 0;
  uint64_t address = 0;
  uint64_t length = 0;
  uint32_t rkey = 0;
};

class Connection {
 public:
  static constexpr uint32_t kDepth = 64;

  /// `memory` bytes that both ends may use. Call connect() before anything is posted but receives.
  Connection(roce::Endpoint& endpoint, size_t memory)
      : endpoint_(endpoint),
        device_(endpoint.device()),
        bytes(memory),
        pd_(must(device_.alloc_pd())),
        mr(must(device_.reg_mr(pd_, bytes.data(), bytes.size(), kAccess | IBV_ACCESS_LOCAL_WRITE))),
        cq(must(device_.create_cq(2 * kDepth))),
        qp(must(device_.create_qp(pd_, cq, cq, attributes()))) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = kAccess;
    must(qp.modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
  }

  void connect(Peer& peer) {
    const uint32_t psn = device_.random_psn();
    there = peer.swap(Way{own_gid(device_), qp.qpn(), psn, reinterpret_cast<uint64_t>(bytes.data()),
                          bytes.size(), mr.rkey()});
    while (!endpoint_.link_up()) {
      endpoint_.poll();
    }
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = there.qpn;
    attr.rq_psn = there.psn;
    attr.max_dest_rd_atomic = 16;
    attr.min_rnr_timer = 12;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.dgid = there.gid;
    attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(device_.default_gid_index());
    attr.ah_attr.grh.hop_limit = 64;
    must(qp.modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 14;
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    attr.sq_psn = psn;
    attr.max_rd_atomic = 16;
    must(qp.modify(attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
    peer.meet();
  }

  /// Posts one signalled request on `length` bytes of the own memory from `offset`; `wr` has the
  /// opcode and, for WRITE, READ and atomics, where it goes.
  void post(ibv_send_wr wr, size_t offset, uint32_t length) {
    ibv_sge sge = piece(offset, length);
    wr.sg_list = &sge;
    wr.num_sge = length > 0 ? 1 : 0;
    wr.send_flags |= IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    if (qp.post_send(&wr, &bad) != 0) {
      die(std::string(qp.post_error()));
    }
  }

  void post_receive(uint64_t id, size_t offset, uint32_t length) {
    ibv_sge sge = piece(offset, length);
    ibv_recv_wr wr{.wr_id = id, .next = nullptr, .sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* bad = nullptr;
    if (qp.post_recv(&wr, &bad) != 0) {
      die(std::string(qp.post_error()));
    }
  }

 private:
  static constexpr int kAccess =
      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

  static ibv_qp_init_attr attributes() {
    ibv_qp_init_attr attr{};
    attr.qp_type = IBV_QPT_RC;
    attr.cap = {kDepth, kDepth, 1, 1, 0};
    return attr;
  }
  ibv_sge piece(size_t offset, uint32_t length) const {
    return {reinterpret_cast<uint64_t>(bytes.data() + offset), length, mr.lkey()};
  }

  roce::Endpoint& endpoint_;
  verbs::Device& device_;

 public:
  std::vector<uint8_t> bytes;

 private:
  verbs::Pd pd_;

 public:
  verbs::Mr mr;
  verbs::Cq cq;
  verbs::Qp qp;
  Way there;
};

}  // namespace example
