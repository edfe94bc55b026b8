// The attributes of a queue pair, alike over both libraries.
// SPDX-License-Identifier: BSD-3-Clause
#include "end.h"

#include <bit>
#include <cstring>

namespace uroce::rxe {

int init_attributes(const QpSetup& setup, ibv_qp_attr& attr) {
  attr = {};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = kPort;
  attr.qp_access_flags = static_cast<unsigned>(setup.qp_access);
  return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
}

int rtr_attributes(const QpSetup& setup, const app::EndAddress& peer, int gid_index,
                   ibv_qp_attr& attr) {
  attr = {};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = static_cast<ibv_mtu>(std::countr_zero(setup.mtu) - 7);  // 256 is 1
  attr.dest_qp_num = peer.qps.front().qpn;
  attr.rq_psn = peer.qps.front().psn;
  attr.max_dest_rd_atomic = kOutstandingReads;
  attr.min_rnr_timer = setup.min_rnr_timer;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = kPort;
  attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(gid_index);
  attr.ah_attr.grh.hop_limit = kHopLimit;
  std::memcpy(attr.ah_attr.grh.dgid.raw, peer.gid.bytes.data(), peer.gid.bytes.size());
  return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
}

int rts_attributes(const QpSetup& setup, ibv_qp_attr& attr) {
  attr = {};
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = setup.timeout;
  attr.retry_cnt = setup.retry_count;
  attr.rnr_retry = setup.rnr_retry;
  attr.sq_psn = setup.psn;
  attr.max_rd_atomic = kOutstandingReads;
  return IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
         IBV_QP_MAX_QP_RD_ATOMIC;
}

}  // namespace uroce::rxe
