// A queue pair's way to RTS, with the attributes that ibverbs-utils use.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/run/connection.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <roce/counters.h>

namespace uroce::app {
namespace {

using roce::failure;
using roce::Result;
using roce::Status;
namespace verbs = roce::verbs;

constexpr uint8_t kPort = 1;
constexpr int kUcAccess = IBV_ACCESS_REMOTE_WRITE;
constexpr int kRemoteAccess =
    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

ibv_mtu mtu_code(uint32_t bytes) {
  return static_cast<ibv_mtu>(std::countr_zero(bytes) - 7);  // 256 is IBV_MTU_256, 1
}

ibv_qp_type type_of(Transport transport) {
  switch (transport) {
    case Transport::rc:
      return IBV_QPT_RC;
    case Transport::uc:
      return IBV_QPT_UC;
    case Transport::ud:
      return IBV_QPT_UD;
  }
  return IBV_QPT_RC;
}

/// The first one that is not link-local, else the link-local one, which is the first of all.
int first_ipv6(const verbs::Device& device, int count) {
  for (int i = 1; i < count; ++i) {
    const auto raw = device.query_gid(kPort, i);
    Gid gid;
    if (raw) {
      std::memcpy(gid.bytes.data(), raw->raw, sizeof raw->raw);
    }
    if (raw && !gid.is_ipv4()) {
      return i;
    }
  }
  return 0;
}

uint32_t mtu_bytes(ibv_mtu code) {
  return 128U << static_cast<unsigned>(code);
}

}  // namespace

Status complete(const verbs::Device& device, ConnectionOptions& options) {
  const auto port = device.query_port(kPort);
  if (!port) {
    return tl::make_unexpected(port.error());
  }
  const uint32_t largest = mtu_bytes(port->active_mtu);
  if (options.mtu == 0) {
    options.mtu = largest;
  }
  if (options.mtu > largest) {
    return failure(EINVAL, fmt::format("--mtu {}: this port carries a path MTU of {} at most; "
                                       "choose that, or raise the port's by --set port.mtu={}",
                                       options.mtu, largest, options.mtu + 80));
  }
  if (options.gid_index < 0) {
    options.gid_index =
        options.ipv6 ? first_ipv6(device, port->gid_tbl_len) : device.default_gid_index();
  }
  if (options.gid_index >= port->gid_tbl_len) {
    return failure(EINVAL, fmt::format("GID index {}: must be 0 to {}, as many addresses as the "
                                       "port has; see address.* in --show-config",
                                       options.gid_index, port->gid_tbl_len - 1));
  }
  return {};
}

Result<verbs::Mr> register_memory(verbs::Device& device, const verbs::Pd& pd,
                                  std::span<uint8_t> memory) {
  return device.reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE | kRemoteAccess);
}

Status complete(const verbs::Device& device, RunOptions& options) {
  if (auto done = complete(device, options.connection); !done) {
    return done;
  }
  const uint64_t most = options.connection.mtu;
  if (options.connection.transport != Transport::ud || options.size <= most) {
    return {};
  }
  if (options.size_given) {
    return failure(EINVAL, fmt::format("--size {}: a UD message is one packet of at most {} bytes; "
                                       "lower it, raise --mtu, or use RC",
                                       options.size, most));
  }
  options.size = most;
  return {};
}

Connection::Connection(verbs::Device& device, const verbs::Pd& pd, const ConnectionOptions& options,
                       verbs::Cq send_cq, verbs::Cq recv_cq, verbs::Qp qp)
    : device_(&device),
      pd_(pd),
      options_(options),
      send_cq_(std::move(send_cq)),
      recv_cq_(std::move(recv_cq)),
      qp_(std::move(qp)),
      psn_(options.start_psn.value_or(device.random_psn())) {}

Result<Connection> Connection::create(verbs::Device& device, const verbs::Pd& pd,
                                      const ConnectionOptions& options, const Shared& shared) {
  const verbs::CqOptions cq_options{.channel = shared.channel};
  // One entry more than can be outstanding is never one too few.
  auto send_cq = device.create_cq(static_cast<int>(options.send_depth) + 1, cq_options);
  if (!send_cq) {
    return tl::make_unexpected(send_cq.error());
  }
  auto recv_cq = device.create_cq(static_cast<int>(options.recv_depth) + 1, cq_options);
  if (!recv_cq) {
    return tl::make_unexpected(recv_cq.error());
  }
  ibv_qp_init_attr init{};
  init.qp_type = type_of(options.transport);
  init.cap.max_send_wr = options.send_depth;
  init.cap.max_recv_wr = options.recv_depth;
  init.cap.max_send_sge = 1;
  init.cap.max_recv_sge = 1;
  init.cap.max_inline_data = options.inline_size;
  auto qp = device.create_qp(pd, *send_cq, *recv_cq, init, shared.srq);
  if (!qp) {
    return tl::make_unexpected(qp.error());
  }
  Connection made(device, pd, options, std::move(*send_cq), std::move(*recv_cq), std::move(*qp));
  if (auto done = made.to_init(); !done) {
    return tl::make_unexpected(done.error());
  }
  return made;
}

Status Connection::to_init() {
  const auto gid = device_->query_gid(kPort, options_.gid_index);
  if (!gid) {
    return tl::make_unexpected(gid.error());
  }
  std::memcpy(gid_.bytes.data(), gid->raw, sizeof gid->raw);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = kPort;
  attr.qkey = kQkey;
  attr.qp_access_flags = options_.transport == Transport::rc ? kRemoteAccess : kUcAccess;
  const int kind = options_.transport == Transport::ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
  return qp_.modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | kind);
}

Status Connection::connect(const Gid& gid, uint32_t qpn, uint32_t psn) {
  ibv_ah_attr way{};
  way.is_global = 1;
  way.port_num = kPort;
  way.sl = options_.service_level;
  way.grh.sgid_index = static_cast<uint8_t>(options_.gid_index);
  way.grh.hop_limit = options_.hop_limit;
  way.grh.flow_label = options_.flow_label;
  way.grh.traffic_class = options_.traffic_class;
  std::memcpy(way.grh.dgid.raw, gid.bytes.data(), gid.bytes.size());
  if (options_.transport == Transport::ud) {
    auto ah = device_->create_ah(pd_, way);
    if (!ah) {
      return tl::make_unexpected(ah.error());
    }
    ah_.emplace(std::move(*ah));
  }
  if (auto done = to_rtr(way, qpn, psn); !done) {
    return done;
  }
  return to_rts();
}

Status Connection::to_rtr(const ibv_ah_attr& way, uint32_t qpn, uint32_t psn) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = mtu_code(options_.mtu);
  attr.dest_qp_num = qpn;
  attr.rq_psn = psn;
  attr.max_dest_rd_atomic = options_.outstanding_reads;
  attr.min_rnr_timer = options_.min_rnr_timer;
  attr.ah_attr = way;
  int mask = IBV_QP_STATE;
  if (options_.transport != Transport::ud) {
    mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  }
  if (options_.transport == Transport::rc) {
    mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  }
  return qp_.modify(attr, mask);
}

Status Connection::to_rts() {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = options_.timeout;
  attr.retry_cnt = options_.retry_count;
  attr.rnr_retry = options_.rnr_retry;
  attr.sq_psn = psn_;
  attr.max_rd_atomic = options_.outstanding_reads;
  int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (options_.transport == Transport::rc) {
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  return qp_.modify(attr, mask);
}

namespace {

std::string_view conduct_text(roce::PeerConduct peer) {
  switch (peer) {
    case roce::PeerConduct::silent:
      return "the peer was silent: it ended, cannot be reached, or too many packets are lost";
    case roce::PeerConduct::drops:
      return "the peer was dropping: it answered later requests, but not the oldest one";
    case roce::PeerConduct::naks:
      return "the peer was answering with NAKs: it is there, and packets to it are lost";
  }
  return "";
}

/// What is known when the retries of a request have been used up.
std::string retries_text(const verbs::Qp& qp) {
  const roce::SendFailure failure = qp.send_failure();
  const roce::QpCounters counters = qp.counters();
  const std::string round_trip =
      failure.round_trip.ns == 0
          ? "not measured"
          : fmt::format("{:.1f} us", static_cast<double>(failure.round_trip.ns) / 1e3);
  return fmt::format(
      "; last PSN sent 0x{:06x}, last acknowledged 0x{:06x}, RTT {}, {} retries since, "
      "{} time-outs and {} NAKs in all; {} (see --qp-timeout, --retry_count)",
      failure.last_sent, failure.last_acknowledged, round_trip, failure.retries, counters.timeouts,
      counters.sequence_naks_rcvd, conduct_text(failure.peer));
}

}  // namespace

std::string failure_text(const ibv_wc& wc, const verbs::Qp& qp) {
  std::string remedy;
  switch (wc.status) {
    case IBV_WC_RETRY_EXC_ERR:
      remedy = retries_text(qp);
      break;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      remedy = "; the other end posts too few receives (see --rx-depth, --rnr_retry)";
      break;
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_LOC_LEN_ERR:
      remedy = "; a message was longer than the receive posted for it (give both ends one --size)";
      break;
    default:
      break;
  }
  return fmt::format("Failed status {} ({}) for wr_id {}{}", verbs::wc_status_name(wc.status),
                     static_cast<int>(wc.status), wc.wr_id, remedy);
}

}  // namespace uroce::app
