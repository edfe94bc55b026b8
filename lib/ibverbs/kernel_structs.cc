// From the structs of the kernel's interface to those of verbs, and back: librdmacm wants it.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <infiniband/sa.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

#include "objects.h"

namespace {

template <class Member, class Value>
void set(Member& member, Value value) {
  member = static_cast<Member>(value);
}

}  // namespace

UROCE_PUBLIC void ibv_copy_ah_attr_from_kern(ibv_ah_attr* out, const ib_uverbs_ah_attr* in) {
  std::ranges::copy(in->grh.dgid, out->grh.dgid.raw);
  out->grh.flow_label = in->grh.flow_label;
  out->grh.sgid_index = in->grh.sgid_index;
  out->grh.hop_limit = in->grh.hop_limit;
  out->grh.traffic_class = in->grh.traffic_class;
  out->dlid = in->dlid;
  out->sl = in->sl;
  out->src_path_bits = in->src_path_bits;
  out->static_rate = in->static_rate;
  out->is_global = in->is_global;
  out->port_num = in->port_num;
}

UROCE_PUBLIC void ibv_copy_qp_attr_from_kern(ibv_qp_attr* out, const ib_uverbs_qp_attr* in) {
  // Not the state to go to, which the caller has put there, as the real library has it.
  set(out->cur_qp_state, in->cur_qp_state);
  set(out->path_mtu, in->path_mtu);
  set(out->path_mig_state, in->path_mig_state);
  out->qkey = in->qkey;
  out->rq_psn = in->rq_psn;
  out->sq_psn = in->sq_psn;
  out->dest_qp_num = in->dest_qp_num;
  out->qp_access_flags = in->qp_access_flags;
  ibv_copy_ah_attr_from_kern(&out->ah_attr, &in->ah_attr);
  ibv_copy_ah_attr_from_kern(&out->alt_ah_attr, &in->alt_ah_attr);
  out->cap = {in->max_send_wr, in->max_recv_wr, in->max_send_sge, in->max_recv_sge,
              in->max_inline_data};
  out->pkey_index = in->pkey_index;
  out->alt_pkey_index = in->alt_pkey_index;
  out->en_sqd_async_notify = in->en_sqd_async_notify;
  out->sq_draining = in->sq_draining;
  out->max_rd_atomic = in->max_rd_atomic;
  out->max_dest_rd_atomic = in->max_dest_rd_atomic;
  out->min_rnr_timer = in->min_rnr_timer;
  out->port_num = in->port_num;
  out->timeout = in->timeout;
  out->retry_cnt = in->retry_cnt;
  out->rnr_retry = in->rnr_retry;
  out->alt_port_num = in->alt_port_num;
  out->alt_timeout = in->alt_timeout;
}

namespace {

/// The members that have the same names on both sides.
template <class Out, class In>
void copy_path(Out& out, const In& in) {
  out.dlid = in.dlid;
  out.slid = in.slid;
  set(out.raw_traffic, in.raw_traffic);
  out.flow_label = in.flow_label;
  set(out.reversible, in.reversible);
  set(out.mtu, in.mtu);
  out.pkey = in.pkey;
  out.hop_limit = in.hop_limit;
  out.traffic_class = in.traffic_class;
  out.numb_path = in.numb_path;
  out.sl = in.sl;
  out.mtu_selector = in.mtu_selector;
  out.rate_selector = in.rate_selector;
  out.rate = in.rate;
  out.packet_life_time_selector = in.packet_life_time_selector;
  out.packet_life_time = in.packet_life_time;
  out.preference = in.preference;
}

}  // namespace

UROCE_PUBLIC void ibv_copy_path_rec_from_kern(ibv_sa_path_rec* out, const ib_user_path_rec* in) {
  std::ranges::copy(in->dgid, out->dgid.raw);
  std::ranges::copy(in->sgid, out->sgid.raw);
  copy_path(*out, *in);
}

UROCE_PUBLIC void ibv_copy_path_rec_to_kern(ib_user_path_rec* out, const ibv_sa_path_rec* in) {
  std::ranges::copy(in->dgid.raw, out->dgid);
  std::ranges::copy(in->sgid.raw, out->sgid);
  copy_path(*out, *in);
}
