// The attributes of a queue pair, alike over both libraries.
// SPDX-License-Identifier: BSD-3-Clause
#include "end.h"

#include <bit>
#include <cstring>

namespace uroce::rxe {

ibv_gid group_of(uint32_t family) {
  constexpr ibv_gid kGroup4{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3}};
  constexpr ibv_gid kGroup6{{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3}};
  return family == 4 ? kGroup4 : kGroup6;
}

ibv_qp_init_attr init_attributes_of(const QpSetup& setup) {
  ibv_qp_init_attr init{};
  init.qp_type = setup.type;
  init.cap = {.max_send_wr = kQueueDepth,
              .max_recv_wr = kQueueDepth,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  return init;
}

ibv_ah_attr way_to(const QpSetup& setup, const app::Gid& peer, int gid_index) {
  ibv_ah_attr way{};
  way.is_global = 1;
  way.port_num = kPort;
  way.grh.sgid_index = static_cast<uint8_t>(gid_index);
  way.grh.hop_limit = kHopLimit;
  if (setup.to_group) {
    way.grh.dgid = group_of(setup.family);
  } else {
    std::memcpy(way.grh.dgid.raw, peer.bytes.data(), peer.bytes.size());
  }
  return way;
}

int init_attributes(const QpSetup& setup, ibv_qp_attr& attr) {
  attr = {};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = kPort;
  const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  if (setup.type == IBV_QPT_UD) {
    attr.qkey = kQkey;
    return mask | IBV_QP_QKEY;
  }
  attr.qp_access_flags = static_cast<unsigned>(setup.qp_access);
  return mask | IBV_QP_ACCESS_FLAGS;
}

int rtr_attributes(const QpSetup& setup, const app::EndAddress& peer, int gid_index,
                   ibv_qp_attr& attr) {
  attr = {};
  attr.qp_state = IBV_QPS_RTR;
  if (setup.type == IBV_QPT_UD) {
    return IBV_QP_STATE;
  }
  attr.path_mtu = static_cast<ibv_mtu>(std::countr_zero(setup.mtu) - 7);  // 256 is 1
  attr.dest_qp_num = peer.qps.front().qpn;
  attr.rq_psn = peer.qps.front().psn;
  attr.ah_attr = way_to(setup, peer.gid, gid_index);
  const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (setup.type == IBV_QPT_UC) {
    return mask;
  }
  attr.max_dest_rd_atomic = kOutstandingReads;
  attr.min_rnr_timer = setup.min_rnr_timer;
  return mask | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
}

int rts_attributes(const QpSetup& setup, ibv_qp_attr& attr) {
  attr = {};
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = setup.psn;
  if (setup.type != IBV_QPT_RC) {
    return IBV_QP_STATE | IBV_QP_SQ_PSN;
  }
  attr.timeout = setup.timeout;
  attr.retry_cnt = setup.retry_count;
  attr.rnr_retry = setup.rnr_retry;
  attr.max_rd_atomic = kOutstandingReads;
  return IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
         IBV_QP_MAX_QP_RD_ATOMIC;
}

}  // namespace uroce::rxe
