// Modify: judges a whole call first and applies it only if nothing is wrong with it.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <roce/verbs.h>

#include "address.h"
#include "base/limits.h"
#include "compat.h"
#include "objects.h"

namespace roce::verbs {
namespace {

using detail::DeviceState;

/// Row of the range table: an attribute that is a plain number.
struct Range {
  int bit;
  const char* name;
  uint32_t value;
  uint32_t max;
};

Status check_ranges(const ibv_qp_attr& a, int mask, size_t pkey_count) {
  const Range rows[] = {
      {IBV_QP_PKEY_INDEX, "pkey_index", a.pkey_index, static_cast<uint32_t>(pkey_count - 1)},
      {IBV_QP_TIMEOUT, "timeout", a.timeout, 31},
      {IBV_QP_RETRY_CNT, "retry_cnt", a.retry_cnt, 7},
      {IBV_QP_RNR_RETRY, "rnr_retry", a.rnr_retry, 7},
      {IBV_QP_MIN_RNR_TIMER, "min_rnr_timer", a.min_rnr_timer, 31},
      {IBV_QP_MAX_QP_RD_ATOMIC, "max_rd_atomic", a.max_rd_atomic, kMaxRdAtomic},
      {IBV_QP_MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic", a.max_dest_rd_atomic, kMaxRdAtomic},
      {IBV_QP_DEST_QPN, "dest_qp_num", a.dest_qp_num, Psn::kMask},
      {IBV_QP_RQ_PSN, "rq_psn", a.rq_psn, Psn::kMask},
      {IBV_QP_SQ_PSN, "sq_psn", a.sq_psn, Psn::kMask},
  };
  for (const Range& row : rows) {
    if ((mask & row.bit) != 0 && row.value > row.max) {
      return failure(EINVAL, std::string(row.name) + " is " + std::to_string(row.value) +
                                 "; the largest allowed value is " + std::to_string(row.max));
    }
  }
  return {};
}

Status check_path_mtu(uint32_t mtu, uint32_t port_mtu) {
  if (mtu < IBV_MTU_256 || mtu > IBV_MTU_4096) {
    return failure(
        EINVAL, "path_mtu is " + std::to_string(mtu) + "; use IBV_MTU_256 (1) to IBV_MTU_4096 (5)");
  }
  const uint32_t bytes = kMinPmtu << (mtu - IBV_MTU_256);
  if (bytes + kPacketOverhead > port_mtu) {
    return failure(EINVAL, "a path MTU of " + std::to_string(bytes) + " needs a port MTU of " +
                               std::to_string(bytes + kPacketOverhead) + ", but the port has " +
                               std::to_string(port_mtu) +
                               "; choose a smaller path MTU or raise the port's");
  }
  return {};
}

Status check_attributes(const DeviceState& device, const ibv_qp_attr& a, int mask) {
  if (Status s = check_ranges(a, mask, device.config.pkeys.size()); !s) {
    return s;
  }
  if ((mask & IBV_QP_PORT) != 0 && a.port_num != 1) {
    return failure(EINVAL, "port_num is " + std::to_string(a.port_num) + "; use 1");
  }
  if ((mask & IBV_QP_PATH_MTU) != 0) {
    if (Status s = check_path_mtu(value_of(a.path_mtu), device.engine.port().info().mtu); !s) {
      return s;
    }
  }
  if ((mask & IBV_QP_ALT_PATH) != 0) {
    return failure(EOPNOTSUPP, "alternate paths are not supported; leave IBV_QP_ALT_PATH out");
  }
  if ((mask & IBV_QP_AV) == 0) {
    return {};
  }
  if (Status s = check_address(device, a.ah_attr); !s) {
    return s;
  }
  return check_unicast(a.ah_attr);
}

/// Takes over the fields that the mask names.
void merge(ibv_qp_attr& to, const ibv_qp_attr& from, int mask) {
  const auto take = [&](int bit, auto member) {
    if ((mask & bit) != 0) {
      to.*member = from.*member;
    }
  };
  take(IBV_QP_ACCESS_FLAGS, &ibv_qp_attr::qp_access_flags);
  take(IBV_QP_PKEY_INDEX, &ibv_qp_attr::pkey_index);
  take(IBV_QP_PORT, &ibv_qp_attr::port_num);
  take(IBV_QP_QKEY, &ibv_qp_attr::qkey);
  take(IBV_QP_AV, &ibv_qp_attr::ah_attr);
  take(IBV_QP_PATH_MTU, &ibv_qp_attr::path_mtu);
  take(IBV_QP_TIMEOUT, &ibv_qp_attr::timeout);
  take(IBV_QP_RETRY_CNT, &ibv_qp_attr::retry_cnt);
  take(IBV_QP_RNR_RETRY, &ibv_qp_attr::rnr_retry);
  take(IBV_QP_RQ_PSN, &ibv_qp_attr::rq_psn);
  take(IBV_QP_MAX_QP_RD_ATOMIC, &ibv_qp_attr::max_rd_atomic);
  take(IBV_QP_MIN_RNR_TIMER, &ibv_qp_attr::min_rnr_timer);
  take(IBV_QP_SQ_PSN, &ibv_qp_attr::sq_psn);
  take(IBV_QP_MAX_DEST_RD_ATOMIC, &ibv_qp_attr::max_dest_rd_atomic);
  take(IBV_QP_PATH_MIG_STATE, &ibv_qp_attr::path_mig_state);
  take(IBV_QP_DEST_QPN, &ibv_qp_attr::dest_qp_num);
  const bool notify = (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) != 0;
  to.en_sqd_async_notify = notify ? from.en_sqd_async_notify : uint8_t{0};
}

QpAttributes to_transport(const ibv_qp_attr& a) {
  QpAttributes t;
  t.pmtu_shift = static_cast<uint8_t>(8 + (std::max(a.path_mtu, IBV_MTU_256) - IBV_MTU_256));
  t.timeout = a.timeout;
  t.retry_cnt = a.retry_cnt;
  t.rnr_retry = a.rnr_retry;
  t.min_rnr_timer = a.min_rnr_timer;
  t.max_rd_atomic = a.max_rd_atomic;
  t.max_dest_rd_atomic = a.max_dest_rd_atomic;
  t.access = static_cast<Access>(a.qp_access_flags);
  return t;
}

/// Moves the transport's QP. Thread: the engine's.
void apply(roce::Qp& qp, roce::QpState to, const ibv_qp_attr& attr) {
  const roce::QpState from = qp.state();
  if (to == roce::QpState::reset) {
    qp.reset();
    return;
  }
  qp.core().attr = to_transport(attr);
  qp.core().remote_qpn = attr.dest_qp_num;
  qp.core().qkey = attr.qkey;
  qp.core().notify_drained = to == roce::QpState::sqd && attr.en_sqd_async_notify != 0;
  if (from == to) {
    if (to == roce::QpState::sqd) {
      qp.attributes_changed();
    }
    return;
  }
  switch (to) {
    case roce::QpState::rtr:
      qp.start_receiving(Psn(attr.rq_psn));
      break;
    case roce::QpState::rts:
      if (from == roce::QpState::rtr) {
        qp.start_sending(Psn(attr.sq_psn));
      } else {
        qp.enter(to);
      }
      break;
    case roce::QpState::err:
      qp.enter_error();
      break;
    default:
      qp.enter(to);
      break;
  }
}

}  // namespace

Status Qp::modify(const ibv_qp_attr& attr, int attr_mask) {
  detail::QpState& qp = *state_;
  DeviceState& device = qp.device();
  const roce::QpState from = qp.qp->state();
  const uint32_t wanted = value_of(attr.qp_state);
  if ((attr_mask & IBV_QP_STATE) != 0 && wanted > IBV_QPS_ERR) {
    return failure(EINVAL, "qp_state is " + std::to_string(wanted) +
                               "; use IBV_QPS_RESET (0) to "
                               "IBV_QPS_ERR (6)");
  }
  if ((attr_mask & IBV_QP_CUR_STATE) != 0 &&
      value_of(attr.cur_qp_state) != static_cast<uint32_t>(from)) {
    return failure(EINVAL, std::string("cur_qp_state does not hold: the queue pair is in state ") +
                               name_of(from));
  }
  const roce::QpState to =
      (attr_mask & IBV_QP_STATE) != 0 ? static_cast<roce::QpState>(wanted) : from;
  if (Status s = check_transition(qp.qp->type(), from, to, static_cast<uint32_t>(attr_mask)); !s) {
    return s;
  }
  if (Status s = check_attributes(device, attr, attr_mask); !s) {
    return s;
  }
  ibv_qp_attr merged = to == roce::QpState::reset ? ibv_qp_attr{} : qp.attr;
  merge(merged, attr, attr_mask);
  if (qp.type == IBV_QPT_UD) {
    merged.path_mtu = largest_pmtu(device.engine.port().info().mtu);
  }
  const uint16_t pkey = device.config.pkeys[merged.pkey_index];
  Path path = qp.qp->core().path;
  if ((attr_mask & IBV_QP_AV) != 0) {
    const Result<Path> made = make_path(device, merged.ah_attr, {qpn(), merged.dest_qp_num, pkey});
    if (!made) {
      return tl::make_unexpected(made.error());
    }
    path = *made;
  }
  device.driver.run([&] {
    if (to == roce::QpState::reset || to == roce::QpState::err) {
      device.engine.answer_now(*qp.qp);
    }
    qp.qp->core().path = path;
    qp.qp->core().pkey = pkey;
    apply(*qp.qp, to, merged);
    device.engine.touch(*qp.qp);
  });
  qp.attr = merged;
  if (to == roce::QpState::reset) {
    qp.send_cq->queue.purge(qpn());
    qp.recv_cq->queue.purge(qpn());
  }
  return {};
}

}  // namespace roce::verbs
