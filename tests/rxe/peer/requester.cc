// The requester's part of each kind of cell.
// SPDX-License-Identifier: BSD-3-Clause
#include "requester.h"

#include <cerrno>
#include <string>

#include <fmt/format.h>
#include <roce/verbs.h>

namespace uroce::rxe {
namespace {

using roce::failure;
using roce::Status;

ibv_wc_opcode completion_of(Op op) {
  switch (op) {
    case Op::send:
    case Op::send_imm:
    case Op::send_inv:
      return IBV_WC_SEND;
    case Op::write:
    case Op::write_imm:
      return IBV_WC_RDMA_WRITE;
    case Op::read:
      return IBV_WC_RDMA_READ;
    case Op::fetch_add:
      return IBV_WC_FETCH_ADD;
    case Op::cmp_swap:
      break;
  }
  return IBV_WC_COMP_SWAP;
}

bool comes_back(Op op) {
  return op == Op::read || is_atomic(op);
}

/// What the specification has a request end with.
ibv_wc_status right_status(Kind kind) {
  switch (kind) {
    case Kind::bad_key:
    case Kind::bad_range:
    case Kind::mr_right:
    case Kind::window:
      return IBV_WC_REM_ACCESS_ERR;
    case Kind::qp_right:
    case Kind::too_long:
      return IBV_WC_REM_INV_REQ_ERR;
    case Kind::rnr_limit:
      return IBV_WC_RNR_RETRY_EXC_ERR;
    case Kind::gone:
      return IBV_WC_RETRY_EXC_ERR;
    default:
      return IBV_WC_SUCCESS;
  }
}

/// Soft-RoCE as the responder answers a message that is too long with another NAK.
std::optional<ibv_wc_status> known_deviation(const Cell& cell) {
  if (cell.kind == Kind::too_long && cell.requester == Requester::uroce) {
    return IBV_WC_REM_OP_ERR;
  }
  return std::nullopt;
}

}  // namespace

Status RequesterPart::run() {
  switch (cell().kind) {
    case Kind::sizes:
    case Kind::wrap:
    case Kind::srq:
    case Kind::multicast:
      return one_by_one();
    case Kind::burst:
      return at_once();
    case Kind::rnr:
      return to_late_receive();
    case Kind::window:
      return by_window();
    case Kind::bad_qkey:
      return with_wrong_qkey();
    default:
      return to_fail();
  }
}

/// `apart`: each at a place of its own, else all at the same one.
std::vector<RequesterPart::Request> RequesterPart::requests(const std::vector<uint32_t>& sizes,
                                                            bool apart) const {
  const std::vector<size_t> offsets = places(sizes);
  const std::vector<AtomicStep> steps =
      is_atomic(cell().op) ? atomic_steps(cell().op, sizes.size()) : std::vector<AtomicStep>();
  std::vector<Request> list;
  for (size_t i = 0; i < sizes.size(); ++i) {
    list.push_back({.message = i,
                    .size = sizes[i],
                    .place = apart ? offsets[i] : 0,
                    .atomic = steps.empty() ? AtomicStep{} : steps[i]});
  }
  return list;
}

size_t RequesterPart::local_place(const Request& request) const {
  return (comes_back(cell().op) ? kTarget : kSource) + request.place;
}

void RequesterPart::prepare(const Request& request) {
  if (comes_back(cell().op)) {
    guard(local_place(request), request.size);
  } else {
    fill(local_place(request), request.size, request.message);
  }
}

void RequesterPart::write_wr(const Request& request, ibv_send_wr& wr, ibv_sge& sge) {
  sge = {.addr = reinterpret_cast<uint64_t>(end().memory().data()) + local_place(request),
         .length = request.size,
         .lkey = end().lkey()};
  wr = {};
  wr.wr_id = request.message;
  wr.opcode = opcode_of(cell().op);
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.sg_list = &sge;
  wr.num_sge = request.size == 0 ? 0 : 1;
  if (has_immediate(cell().op)) {
    wr.imm_data = immediate_of(request.message);
  }
  const app::QpAddress& remote = peer();
  if (cell().transport == Transport::ud) {
    const bool to_group = cell().kind == Kind::multicast;
    wr.wr.ud = {.ah = end().address_handle(),
                .remote_qpn = to_group ? kMulticastQpn : remote.qpn,
                .remote_qkey = kQkey ^ wrong_qkey_bits_};
    return;
  }
  uint32_t key = cell().kind == Kind::bad_key ? remote.rkey ^ 1U : remote.rkey;
  if (cell().kind == Kind::window) {
    key = window_key_;
    wr.opcode = revoking_                   ? IBV_WR_SEND_WITH_INV
                : cell().op == Op::send_inv ? IBV_WR_RDMA_WRITE
                                            : wr.opcode;
  }
  if (wr.opcode == IBV_WR_SEND_WITH_INV) {
    wr.invalidate_rkey = key;
    return;
  }
  const uint64_t area = cell().op == Op::read ? kSource : kTarget;
  const uint64_t where = cell().kind == Kind::bad_range
                             ? remote.va + remote.length
                             : remote.va + area + (is_atomic(cell().op) ? 0 : request.place);
  if (is_atomic(cell().op)) {
    wr.wr.atomic = {.remote_addr = where,
                    .compare_add = request.atomic.compare_add,
                    .swap = request.atomic.swap,
                    .rkey = key};
  } else {
    wr.wr.rdma = {.remote_addr = where, .rkey = key};
  }
}

Status RequesterPart::post(const std::vector<Request>& list) {
  std::vector<ibv_send_wr> wrs(list.size());
  std::vector<ibv_sge> sges(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    prepare(list[i]);
    write_wr(list[i], wrs[i], sges[i]);
    wrs[i].next = i + 1 < list.size() ? &wrs[i + 1] : nullptr;
  }
  const int rc = end().post_send(wrs.data());
  return rc == 0 ? Status{} : failure(rc, fmt::format("post_send refused with errno {}", rc));
}

Status RequesterPart::finish(const Request& request) {
  const auto wc = await(fmt::format("request {} of {} bytes", request.message, request.size));
  if (!wc) {
    return tl::make_unexpected(wc.error());
  }
  if (wc->status != IBV_WC_SUCCESS || wc->wr_id != request.message ||
      (wc->opcode != completion_of(cell().op) && cell().op != Op::send_inv)) {
    return failure(
        EIO, fmt::format("request {} of {} bytes completed with '{}', opcode {}, wr_id {}",
                         request.message, request.size, roce::verbs::wc_status_name(wc->status),
                         static_cast<int>(wc->opcode), wc->wr_id));
  }
  return check_result(request);
}

Status RequesterPart::check_result(const Request& request) {
  if (cell().op == Op::read) {
    return check(local_place(request), request.size, request.message);
  }
  if (is_atomic(cell().op)) {
    const uint64_t word = word_at(local_place(request));
    if (word != request.atomic.before) {
      return failure(EIO, fmt::format("atomic {} returned {:#x} instead of {:#x}", request.message,
                                      word, request.atomic.before));
    }
    return check_guard(local_place(request) + request.size, 0);
  }
  return {};
}

Status RequesterPart::one_by_one() {
  for (const Request& request : requests(sizes_of(cell()), false)) {
    Status done = meet("set", request.message);
    if (done) {
      done = post({request});
    }
    if (done) {
      done = finish(request);
    }
    if (done) {
      done = meet("sent", request.message);
    }
    if (!done) {
      return done;
    }
  }
  return {};
}

Status RequesterPart::at_once() {
  const std::vector<Request> list = requests(burst_of(cell()), true);
  Status done = meet("set", 0);
  if (done) {
    done = post(list);
  }
  for (const Request& request : list) {
    if (done) {
      done = finish(request);
    }
  }
  return done ? meet("sent", 0) : done;
}

Status RequesterPart::to_late_receive() {
  const Request request{.message = 0, .size = kMessage};
  Status done = meet("set", 0);
  if (done) {
    done = post({request});
  }
  if (done) {
    done = finish(request);
  }
  return done ? meet("sent", 0) : done;
}

Status RequesterPart::to_fail() {
  const uint32_t size = is_atomic(cell().op) ? sizeof(uint64_t) : kMessage;
  Status done = meet("set", 0);
  if (done) {
    done = fail_two(requests({size, size}, true));
  }
  return done ? meet("failed", 0) : done;
}

// The second request was never executed, and is flushed.
Status RequesterPart::fail_two(const std::vector<Request>& two) {
  if (auto done = post(two); !done) {
    return done;
  }
  const auto first = await("the request that is to fail");
  if (!first) {
    return tl::make_unexpected(first.error());
  }
  Status done = expect_status(first->status, right_status(cell().kind), known_deviation(cell()));
  if (!done) {
    return done;
  }
  const auto second = await("the request behind it");
  if (!second) {
    return tl::make_unexpected(second.error());
  }
  done = expect_status(second->status, IBV_WC_WR_FLUSH_ERR, std::nullopt);
  return done ? expect_state(IBV_QPS_ERR) : done;
}

// Through the window while it is there, and again when it has been revoked: by a SEND, or by the
// responder itself.
Status RequesterPart::by_window() {
  const auto key = channel().receive_line("the window's key");
  if (!key) {
    return tl::make_unexpected(key.error());
  }
  window_key_ = static_cast<uint32_t>(std::stoul(*key));
  const uint32_t size = is_atomic(cell().op) ? sizeof(uint64_t) : kMessage;
  const std::vector<Request> list = requests({size, size}, true);
  Status done = post({list[0]});
  if (done) {
    done = finish(list[0]);
  }
  if (done) {
    done = meet("used", 0);
  }
  if (done && cell().op == Op::send_inv) {
    revoking_ = true;
    done = post({list[1]});
    if (done) {
      done = finish(list[1]);
    }
    revoking_ = false;
  }
  if (done) {
    done = meet("revoked", 0);
  }
  if (done) {
    done = fail_two(list);
  }
  return done ? meet("failed", 0) : done;
}

// Nobody says anything about the first datagram.
Status RequesterPart::with_wrong_qkey() {
  const std::vector<Request> list = requests({kMessage, kMessage}, true);
  Status done = meet("set", 0);
  for (const Request& request : list) {
    wrong_qkey_bits_ = request.message == 0 ? 1 : 0;
    if (done) {
      done = post({request});
    }
    if (done) {
      done = finish(request);
    }
  }
  return done ? meet("sent", 0) : done;
}

}  // namespace uroce::rxe
