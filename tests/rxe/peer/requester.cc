// The requester's part of each kind of cell.
// SPDX-License-Identifier: BSD-3-Clause
#include "requester.h"

#include <cerrno>

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
      return one_by_one();
    case Kind::burst:
      return at_once();
    case Kind::rnr:
      return to_late_receive();
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
  const uint32_t key = cell().kind == Kind::bad_key ? remote.rkey ^ 1U : remote.rkey;
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
      wc->opcode != completion_of(cell().op)) {
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

// The second request was never executed, and is flushed.
Status RequesterPart::to_fail() {
  const uint32_t size = is_atomic(cell().op) ? sizeof(uint64_t) : kMessage;
  Status done = meet("set", 0);
  if (done) {
    done = post(requests({size, size}, true));
  }
  if (!done) {
    return done;
  }
  const auto first = await("the request that is to fail");
  if (!first) {
    return tl::make_unexpected(first.error());
  }
  done = expect_status(first->status, right_status(cell().kind), known_deviation(cell()));
  if (!done) {
    return done;
  }
  const auto second = await("the request behind it");
  if (!second) {
    return tl::make_unexpected(second.error());
  }
  done = expect_status(second->status, IBV_WC_WR_FLUSH_ERR, std::nullopt);
  if (done) {
    done = expect_state(IBV_QPS_ERR);
  }
  return done ? meet("failed", 0) : done;
}

}  // namespace uroce::rxe
