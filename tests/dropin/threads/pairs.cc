// Set-up, connection and tear-down of the queue pairs.
// SPDX-License-Identifier: BSD-3-Clause
#include "pairs.h"

namespace dropin {
namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                        IBV_ACCESS_REMOTE_ATOMIC;
constexpr uint32_t kSharedSends = kThreads * kSendsARound;

}  // namespace

/// Threads of odd numbers get a channel, to sleep on it for what happens on their own pairs.
Pairs::Pairs(Arena& arena, uint8_t gid_index) : arena_(arena), gid_index_(gid_index) {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  need(list != nullptr && count > 0, "no device");
  context_ = ibv_open_device(list[0]);
  need(context_ != nullptr, "ibv_open_device");
  ibv_free_device_list(list);
  pd_ = ibv_alloc_pd(context_);
  need(pd_ != nullptr, "ibv_alloc_pd");
  mr_ = ibv_reg_mr(pd_, arena.base(), arena.size(), kAccess);
  need(mr_ != nullptr, "ibv_reg_mr");
  for (uint32_t t = 0; t < kThreads; ++t) {
    pairs_[t] = make_pair(kSendsARound, kOwnReceives, t % 2 == 1);
    for (uint32_t i = 0; i < kOwnReceives; ++i) {
      post_receive(pairs_[t], arena.own_receive(t, i), i);
    }
  }
  pairs_.back() = make_pair(kSharedSends, kSharedReceives, false);
  for (uint32_t i = 0; i < kSharedReceives; ++i) {
    post_receive(shared(), arena.shared_receive(i), i);
  }
}

Pairs::~Pairs() {
  for (const Pair& pair : pairs_) {
    need(ibv_destroy_qp(pair.qp) == 0, "ibv_destroy_qp");
    need(ibv_destroy_cq(pair.cq) == 0, "ibv_destroy_cq");
    need(pair.channel == nullptr || ibv_destroy_comp_channel(pair.channel) == 0,
         "ibv_destroy_comp_channel");
  }
  need(ibv_dereg_mr(mr_) == 0, "ibv_dereg_mr");
  need(ibv_dealloc_pd(pd_) == 0, "ibv_dealloc_pd");
  need(ibv_close_device(context_) == 0, "ibv_close_device");
}

/// A pair in state INIT.
Pair Pairs::make_pair(uint32_t sends, uint32_t receives, bool with_channel) {
  Pair pair;
  if (with_channel) {
    pair.channel = ibv_create_comp_channel(context_);
    need(pair.channel != nullptr, "ibv_create_comp_channel");
  }
  pair.cq = ibv_create_cq(context_, static_cast<int>(sends + receives), nullptr, pair.channel, 0);
  need(pair.cq != nullptr, "ibv_create_cq");
  ibv_qp_init_attr create{};
  create.send_cq = create.recv_cq = pair.cq;
  create.qp_type = IBV_QPT_RC;
  create.cap = {sends, receives, 1, 1, 0};
  pair.qp = ibv_create_qp(pd_, &create);
  need(pair.qp != nullptr, "ibv_create_qp");
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = kAccess;
  const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  need(ibv_modify_qp(pair.qp, &attr, mask) == 0, "ibv_modify_qp to INIT");
  return pair;
}

void Pairs::meet(PeerLink& link) {
  Hello mine;
  need(ibv_query_gid(context_, 1, gid_index_, &mine.gid) == 0, "ibv_query_gid");
  mine.base = reinterpret_cast<uint64_t>(arena_.base());
  mine.rkey = mr_->rkey;
  for (size_t i = 0; i < pairs_.size(); ++i) {
    mine.qpns[i] = pairs_[i].qp->qp_num;
  }
  peer_ = link.exchange(mine);
  for (size_t i = 0; i < pairs_.size(); ++i) {
    connect(*pairs_[i].qp, peer_.qpns[i]);
  }
}

/// The first PSN of each pair is its number.
void Pairs::connect(ibv_qp& qp, uint32_t peer) const {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = attr.rq_psn = peer;
  attr.max_dest_rd_atomic = attr.max_rd_atomic = kThreads;
  attr.min_rnr_timer = 12;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.grh.dgid = peer_.gid;
  attr.ah_attr.grh.sgid_index = gid_index_;
  attr.ah_attr.grh.hop_limit = 64;
  attr.ah_attr.port_num = 1;
  const int receives = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  need(ibv_modify_qp(&qp, &attr, receives) == 0, "ibv_modify_qp to RTR");
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 17;  // half a second: threads wait for each other
  attr.retry_cnt = attr.rnr_retry = 7;
  attr.sq_psn = qp.qp_num;
  const int sends = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
  need(ibv_modify_qp(&qp, &attr, sends) == 0, "ibv_modify_qp to RTS");
}

void Pairs::post_receive(const Pair& pair, Message to, uint64_t wr_id) {
  ibv_sge sge{reinterpret_cast<uint64_t>(to.data()), kBytes, mr_->lkey};
  ibv_recv_wr wr{};
  wr.wr_id = wr_id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  need(ibv_post_recv(pair.qp, &wr, &bad) == 0, "ibv_post_recv");
}

void Pairs::post_send(const Pair& pair, ibv_send_wr request, Message message, uint32_t length) {
  ibv_sge sge{reinterpret_cast<uint64_t>(message.data()), length, mr_->lkey};
  request.sg_list = &sge;
  request.num_sge = 1;
  request.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  need(ibv_post_send(pair.qp, &request, &bad) == 0, "ibv_post_send");
}

}  // namespace dropin
