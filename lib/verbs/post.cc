// Posting: each work request is checked, then written into the ring as a WQE; the list's end
// publishes and rings the bell once.
// SPDX-License-Identifier: BSD-3-Clause
#include "post.h"

#include <algorithm>
#include <array>

#include <roce/verbs.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "objects.h"
#include "wire/feth.h"

namespace roce::verbs {
namespace {

using detail::QpState;

/// Remembers the reason and returns the errno.
int refuse(QpState& qp, int error, const char* reason) {
  qp.post_error = reason;
  return error;
}

// Which services know a request, and whether it may be inline (spec/protocol-and-verbs.md 4.1).
constexpr uint8_t kRc = 1;
constexpr uint8_t kUc = 2;
constexpr uint8_t kUd = 4;

struct OpcodeRow {
  uint8_t services = 0;
  bool takes_inline = false;
};

constexpr std::array<OpcodeRow, kSendOpcodes> kOpcodeRows = [] {
  std::array<OpcodeRow, kSendOpcodes> rows{};
  const auto set = [&rows](SendOpcode op, OpcodeRow row) { rows[static_cast<size_t>(op)] = row; };
  set(SendOpcode::rdma_write, {kRc | kUc, true});
  set(SendOpcode::rdma_write_imm, {kRc | kUc, true});
  set(SendOpcode::send, {kRc | kUc | kUd, true});
  set(SendOpcode::send_imm, {kRc | kUc | kUd, true});
  set(SendOpcode::rdma_read, {kRc, false});
  set(SendOpcode::compare_swap, {kRc, false});
  set(SendOpcode::fetch_add, {kRc, false});
  set(SendOpcode::local_invalidate, {kRc | kUc, false});
  set(SendOpcode::bind_mw, {kRc | kUc, false});
  set(SendOpcode::send_invalidate, {kRc, true});  // UC has no opcode for it on the wire
  set(SendOpcode::flush, {kRc, false});
  set(SendOpcode::atomic_write, {kRc, true});
  return rows;
}();

constexpr uint8_t service_of(ibv_qp_type type) {
  return type == IBV_QPT_RC ? kRc : type == IBV_QPT_UC ? kUc : kUd;
}

OpcodeRow row_of(SendOpcode opcode) {
  return kOpcodeRows[static_cast<size_t>(opcode)];
}

int refuse_opcode(QpState& qp) {
  return refuse(qp, EINVAL, "this opcode is not supported on a queue pair of this type");
}

int check_atomic(QpState& qp, uint64_t remote_addr, uint64_t length, bool write) {
  if (write ? length != sizeof(uint64_t) : length < sizeof(uint64_t)) {
    return refuse(
        qp, EINVAL,
        write ? "an atomic write has exactly 8 bytes" : "an atomic needs 8 bytes for its result");
  }
  if ((remote_addr & 7) != 0) {
    return refuse(qp, EINVAL, "the remote address of an atomic must be a multiple of 8");
  }
  return 0;
}

int check_datagram(QpState& qp, const ibv_send_wr& wr, uint64_t length) {
  if (wr.wr.ud.ah == nullptr) {
    return refuse(qp, EINVAL, "a datagram needs an address handle in wr.ud.ah");
  }
  if (length > qp.qp->core().pmtu()) {
    return refuse(qp, EINVAL, "the datagram is longer than the port's path MTU");
  }
  return 0;
}

int check_bind(QpState& qp, const ibv_send_wr& wr) {
  if (wr.bind_mw.mw == nullptr || wr.bind_mw.bind_info.mr == nullptr) {
    return refuse(qp, EINVAL, "a bind needs a memory window and a memory region");
  }
  if (wr.bind_mw.mw->type != IBV_MW_TYPE_2) {
    return refuse(qp, EINVAL, "a window of type 1 is bound by ibv_bind_mw, not by a work request");
  }
  return 0;
}

int check_inline(QpState& qp, const OpcodeRow& row, uint64_t length) {
  if (!row.takes_inline) {
    return refuse(qp, EINVAL, "IBV_SEND_INLINE goes with SEND and WRITE only");
  }
  if (length > qp.cap.max_inline_data) {
    return refuse(qp, EINVAL, "the inline data is longer than the queue pair's max_inline_data");
  }
  return 0;
}

int check_by_opcode(QpState& qp, const ibv_send_wr& wr, SendOpcode opcode, uint64_t length) {
  switch (opcode) {
    case SendOpcode::compare_swap:
    case SendOpcode::fetch_add:
      return check_atomic(qp, wr.wr.atomic.remote_addr, length, false);
    case SendOpcode::atomic_write:
      return check_atomic(qp, wr.wr.rdma.remote_addr, length, true);
    case SendOpcode::bind_mw:
      return check_bind(qp, wr);
    case SendOpcode::flush:
      return refuse(qp, EINVAL, "a FLUSH is posted by Qp::post_flush");
    default:
      return qp.type == IBV_QPT_UD ? check_datagram(qp, wr, length) : 0;
  }
}

/// 0, or the errno for which the request is refused.
int check_send(QpState& qp, const ibv_send_wr& wr, SendOpcode opcode, uint64_t length) {
  const OpcodeRow row = row_of(opcode);
  if ((row.services & service_of(qp.type)) == 0) {
    return refuse_opcode(qp);
  }
  if (length > kMaxMessage) {
    return refuse(qp, EINVAL, "the message is longer than 2^31 bytes");
  }
  if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
    if (const int rc = check_inline(qp, row, length); rc != 0) {
      return rc;
    }
  }
  return check_by_opcode(qp, wr, opcode, length);
}

void copy_inline(SendWqe& wqe, const ibv_send_wr& wr) {
  uint8_t* to = wqe.inline_data();
  for (int i = 0; i < wr.num_sge; ++i) {
    // An empty piece may be anywhere, at address 0 for instance.
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the address of an SGE is a number
    const auto* const from = reinterpret_cast<const uint8_t*>(wr.sg_list[i].addr);
    to = std::copy_n(from, wr.sg_list[i].length, to);
  }
}

WindowBinding binding_of(uint32_t window_key, uint32_t new_key, const ibv_mw_bind_info& info) {
  WindowBinding b;
  b.window_key = window_key;
  b.new_key = new_key;
  b.region_key = info.mr != nullptr ? info.mr->lkey : 0;
  b.va = info.addr;
  b.length = info.length;
  b.access = static_cast<Access>(info.mw_access_flags);
  return b;
}

void fill_payload(SendWqe& wqe, const ibv_send_wr& wr) {
  if (wqe.is_inline()) {
    wqe.sge_count = 0;
    copy_inline(wqe, wr);
  } else {
    wqe.sge_count = static_cast<uint8_t>(wr.num_sge);
    copy_sges(wqe.sge, wr);
  }
}

/// What is addressed, and with which operands.
void fill_request(QpState& qp, SendWqe& wqe, const ibv_send_wr& wr) {
  switch (wqe.opcode) {
    case SendOpcode::compare_swap:
      wqe.set_swap(wr.wr.atomic.swap);
      [[fallthrough]];
    case SendOpcode::fetch_add:
      wqe.remote_addr = wr.wr.atomic.remote_addr;
      wqe.rkey = wr.wr.atomic.rkey;
      wqe.compare_or_add = wr.wr.atomic.compare_add;
      break;
    case SendOpcode::local_invalidate:
      wqe.rkey = wr.invalidate_rkey;
      break;
    case SendOpcode::bind_mw:
      wqe.set_binding(binding_of(wr.bind_mw.mw->rkey, wr.bind_mw.rkey, wr.bind_mw.bind_info));
      break;
    case SendOpcode::send_invalidate:
      wqe.imm_or_rkey = wr.invalidate_rkey;
      break;
    default:
      if (qp.type == IBV_QPT_UD) {
        wqe.remote_addr = wr.wr.ud.remote_qpn;
        wqe.rkey = wr.wr.ud.remote_qkey;
        qp.qp->send_queue().tail<Path>(wqe) = detail::ah_state(wr.wr.ud.ah).path;
      } else {
        wqe.remote_addr = wr.wr.rdma.remote_addr;
        wqe.rkey = wr.wr.rdma.rkey;
      }
      break;
  }
}

void start(SendWqe& wqe, uint64_t wr_id, SendOpcode opcode, unsigned flags) {
  wqe.wr_id = wr_id;
  wqe.opcode = opcode;
  wqe.flags = static_cast<uint8_t>(flags & 0x0f);
  wqe.executed = false;
}

/// A free slot; nullptr, and the reason in the QP, when there is none.
SendWqe* reserve(QpState& qp) {
  SendWqe* const wqe = qp.qp->send_queue().reserve();
  if (wqe == nullptr) {
    qp.post_error = "the send queue is full; poll completions first";
  }
  return wqe;
}

int post_one(QpState& qp, const ibv_send_wr& wr) {
  const uint32_t number = value_of(wr.opcode);
  if (number >= kSendOpcodes) {
    return refuse_opcode(qp);
  }
  const auto opcode = static_cast<SendOpcode>(number);
  const bool local = is_local(opcode);
  const int num_sge = local ? 0 : wr.num_sge;  // these have no list
  // Before the list is looked at: a wrong count must not lead past its end.
  if (num_sge < 0 || static_cast<uint32_t>(num_sge) > qp.cap.max_send_sge) {
    return refuse(qp, EINVAL, "num_sge is above the queue pair's max_send_sge");
  }
  const uint64_t length = total_length(wr.sg_list, num_sge);
  if (const int rc = check_send(qp, wr, opcode, length); rc != 0) {
    return rc;
  }
  SendWqe* const wqe = reserve(qp);
  if (wqe == nullptr) {
    return ENOMEM;
  }
  start(*wqe, wr.wr_id, opcode, wr.send_flags);
  wqe->length = static_cast<uint32_t>(length);
  wqe->imm_or_rkey = byteswap(wr.imm_data);
  if (local) {
    wqe->sge_count = 0;
  } else {
    fill_payload(*wqe, wr);
  }
  fill_request(qp, *wqe, wr);
  qp.qp->send_queue().commit();
  return 0;
}

int check_state(QpState& qp) {
  if (qp.qp->state() < roce::QpState::rts) {
    return refuse(qp, EINVAL, "the queue pair does not take sends before it is in state RTS");
  }
  return 0;
}

/// Writes the list into the ring, unseen by the engine, until one request is refused, to which `wr`
/// then points.
int stage_list(QpState& qp, ibv_send_wr*& wr) {
  int rc = check_state(qp);
  for (; wr != nullptr && rc == 0; wr = rc == 0 ? wr->next : wr) {
    rc = post_one(qp, *wr);
  }
  return rc;
}

/// Shows what was posted to the engine.
void show(QpState& qp) {
  qp.qp->send_queue().publish();
  qp.engine().ring(*qp.qp);
}

}  // namespace

int Qp::post_send(ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  engine_qp_->prefetch(kSendWork);
  const int rc = stage_list(*state_, wr);
  if (rc != 0) {
    *bad_wr = wr;
  }
  show(*state_);
  return rc;
}

int Qp::post_send_all(ibv_send_wr* wr) {
  engine_qp_->prefetch(kSendWork);
  const int rc = stage_list(*state_, wr);
  if (rc != 0) {
    state_->qp->send_queue().take_back();
    return rc;
  }
  show(*state_);
  return 0;
}

int Qp::post_flush(const FlushRequest& request) {
  QpState& qp = *state_;
  if (const int rc = check_state(qp); rc != 0) {
    return rc;
  }
  if (qp.type != IBV_QPT_RC) {
    return refuse(qp, EINVAL, "FLUSH exists on RC queue pairs only");
  }
  SendWqe* const wqe = reserve(qp);
  if (wqe == nullptr) {
    return ENOMEM;
  }
  start(*wqe, request.wr_id, SendOpcode::flush, request.send_flags & ~unsigned{IBV_SEND_INLINE});
  wqe->length = request.length;
  wqe->sge_count = 0;
  wqe->remote_addr = request.remote_addr;
  wqe->rkey = request.rkey;
  const uint8_t selectivity = request.whole_region ? wire::Feth::kWholeRegion : wire::Feth::kRange;
  wqe->imm_or_rkey = wire::Feth{wire::Feth::kGlobalVisibility, selectivity}.word();
  qp.qp->send_queue().commit();
  show(qp);
  return 0;
}

int Qp::bind_mw(Mw& mw, const ibv_mw_bind& bind) {
  QpState& qp = *state_;
  if (const int rc = check_state(qp); rc != 0) {
    return rc;
  }
  if (qp.type == IBV_QPT_UD) {
    return refuse(qp, EINVAL, "UD queue pairs have no memory windows");
  }
  if (mw.ibv()->type != IBV_MW_TYPE_1) {
    return refuse(qp, EINVAL, "a window of type 2 is bound by a work request, not by ibv_bind_mw");
  }
  if (bind.bind_info.mr == nullptr && bind.bind_info.length > 0) {
    return refuse(qp, EINVAL, "a bind of more than 0 bytes needs a memory region");
  }
  SendWqe* const wqe = reserve(qp);
  if (wqe == nullptr) {
    return ENOMEM;
  }
  start(*wqe, bind.wr_id, SendOpcode::bind_mw, bind.send_flags & ~unsigned{IBV_SEND_INLINE});
  wqe->sge_count = 0;
  const uint32_t new_key = ibv_inc_rkey(mw.ibv()->rkey);
  wqe->set_binding(binding_of(mw.ibv()->rkey, new_key, bind.bind_info));
  mw.ibv()->rkey = new_key;
  qp.qp->send_queue().commit();
  show(qp);
  return 0;
}

int Qp::post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  QpState& qp = *state_;
  if (qp.srq != nullptr) {
    *bad_wr = wr;
    return refuse(qp, EINVAL, "the queue pair receives from a shared queue; post there");
  }
  if (qp.qp->state() == roce::QpState::reset) {
    *bad_wr = wr;
    return refuse(qp, EINVAL, "the queue pair does not take receives before it is in state INIT");
  }
  RecvQueue& queue = qp.qp->recv_queue();
  const int rc =
      post_receives(ReceiveTarget{queue, qp.cap.max_recv_sge, qp.post_error}, wr, bad_wr);
  queue.publish();
  if (qp.qp->state() == roce::QpState::err) {
    qp.engine().ring(*qp.qp);  // to be flushed
  }
  return rc;
}

std::string_view Qp::post_error() const {
  return state_->post_error;
}

}  // namespace roce::verbs
