// The responder's part of each kind of cell.
// SPDX-License-Identifier: BSD-3-Clause
#include "responder.h"

#include <cerrno>
#include <string>

#include <fmt/format.h>
#include <roce/verbs.h>

namespace uroce::rxe {
namespace {

using roce::failure;
using roce::Status;

/// Soft-RoCE completes a receive that was too short with another status.
std::optional<ibv_wc_status> known_deviation(bool is_uroce) {
  return is_uroce ? std::nullopt : std::optional(IBV_WC_LOC_QP_OP_ERR);
}

bool ends_in_error(Kind kind) {
  return kind != Kind::rnr_limit && kind != Kind::gone;
}

}  // namespace

Status ResponderPart::run() {
  if (is_atomic(cell().op)) {
    set_word(kTarget, kFirstWord);
  }
  switch (cell().kind) {
    case Kind::sizes:
    case Kind::wrap:
    case Kind::srq:
    case Kind::multicast:
      return one_by_one();
    case Kind::burst:
      return at_once();
    case Kind::rnr:
      return late_receive();
    case Kind::window:
      return give_window();
    case Kind::bad_qkey:
      return check_wrong_qkey();
    default:
      return to_fail();
  }
}

Status ResponderPart::post(size_t message, size_t place, uint32_t size) {
  ibv_sge sge{.addr = reinterpret_cast<uint64_t>(end().memory().data()) + kTarget + place,
              .length = size + grh_bytes(),
              .lkey = end().lkey()};
  ibv_recv_wr wr{};
  wr.wr_id = message;
  wr.sg_list = &sge;
  wr.num_sge = sge.length == 0 || cell().op == Op::write_imm ? 0 : 1;
  const int rc = end().post_receive(&wr);
  return rc == 0 ? Status{} : failure(rc, fmt::format("post_recv refused with errno {}", rc));
}

Status ResponderPart::prepare(size_t message, size_t place, uint32_t size) {
  if (cell().op == Op::read) {
    fill(kSource + place, size, message);
  } else if (!is_atomic(cell().op)) {
    guard(kTarget + place, size + grh_bytes());
  }
  return takes_receive(cell().op) ? post(message, place, size) : Status{};
}

Status ResponderPart::receive(size_t message, uint32_t size) {
  if (!takes_receive(cell().op)) {
    return {};
  }
  const auto wc = await(fmt::format("receive {} of {} bytes", message, size));
  if (!wc) {
    return tl::make_unexpected(wc.error());
  }
  const auto right = cell().op == Op::write_imm ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  const bool immediate = (wc->wc_flags & IBV_WC_WITH_IMM) != 0;
  if (wc->status != IBV_WC_SUCCESS || wc->wr_id != message || wc->opcode != right ||
      wc->byte_len != size + grh_bytes() || immediate != has_immediate(cell().op)) {
    return failure(EIO,
                   fmt::format("receive {} of {} bytes completed with '{}', wr_id {}, opcode "
                               "{}, byte_len {}, flags {:#x}",
                               message, size, roce::verbs::wc_status_name(wc->status), wc->wr_id,
                               static_cast<int>(wc->opcode), wc->byte_len, wc->wc_flags));
  }
  if (cell().transport == Transport::ud &&
      (wc->src_qp != peer().qpn || (wc->wc_flags & IBV_WC_GRH) == 0)) {
    return failure(EIO, fmt::format("datagram {} came from QPN {:#x} instead of {:#x}, flags {:#x}",
                                    message, wc->src_qp, peer().qpn, wc->wc_flags));
  }
  if (immediate && wc->imm_data != immediate_of(message)) {
    return failure(EIO, fmt::format("receive {} has immediate data {:#x} instead of {:#x}", message,
                                    wc->imm_data, immediate_of(message)));
  }
  return {};
}

Status ResponderPart::check_effect(size_t message, size_t place, uint32_t size) {
  if (cell().op == Op::read || is_atomic(cell().op)) {
    return {};  // the requester has checked what it got
  }
  if (cell().transport == Transport::uc && !takes_receive(cell().op)) {
    wait_for(kTarget + place, size, message);
  }
  return check(kTarget + place + grh_bytes(), size, message);
}

Status ResponderPart::check_word(size_t operations) {
  if (!is_atomic(cell().op)) {
    return {};
  }
  const uint64_t right = atomic_steps(cell().op, operations).back().after;
  if (word_at(kTarget) != right) {
    return failure(EIO, fmt::format("the word is {:#x} after {} operations instead of {:#x}",
                                    word_at(kTarget), operations, right));
  }
  return {};
}

Status ResponderPart::one_by_one() {
  const std::vector<uint32_t> sizes = sizes_of(cell());
  for (size_t i = 0; i < sizes.size(); ++i) {
    Status done = prepare(i, 0, sizes[i]);
    if (done) {
      done = meet("set", i);
    }
    if (done) {
      done = receive(i, sizes[i]);
    }
    if (done) {
      done = meet("sent", i);
    }
    if (done) {
      done = check_effect(i, 0, sizes[i]);
    }
    if (!done) {
      return done;
    }
  }
  return check_word(sizes.size());
}

Status ResponderPart::at_once() {
  const std::vector<uint32_t> sizes = burst_of(cell());
  const std::vector<size_t> offsets = places(sizes);
  Status done;
  for (size_t i = 0; i < sizes.size() && done; ++i) {
    done = prepare(i, offsets[i], sizes[i]);
  }
  if (done) {
    done = meet("set", 0);
  }
  for (size_t i = 0; i < sizes.size() && done; ++i) {
    done = receive(i, sizes[i]);
  }
  if (done) {
    done = meet("sent", 0);
  }
  for (size_t i = 0; i < sizes.size() && done; ++i) {
    done = check_effect(i, offsets[i], sizes[i]);
  }
  return done ? check_word(sizes.size()) : done;
}

Status ResponderPart::late_receive() {
  guard(kTarget, kMessage);
  Status done = meet("set", 0);
  if (done) {
    linger(kLate);
    done = post(0, 0, kMessage);
  }
  if (done) {
    done = receive(0, kMessage);
  }
  if (done) {
    done = meet("sent", 0);
  }
  return done ? check_effect(0, 0, kMessage) : done;
}

Status ResponderPart::prepare_to_fail() {
  if (!is_atomic(cell().op)) {
    guard(kTarget, kMessage);
  }
  if (cell().kind == Kind::gone) {
    end().destroy_qp();
  }
  if (cell().kind != Kind::too_long) {
    return {};
  }
  const Status done = post(0, 0, kShortReceive);
  return done ? post(1, kMessage, kMessage) : done;
}

Status ResponderPart::check_failed_receives() {
  if (cell().kind != Kind::too_long) {
    return stay_quiet(std::chrono::milliseconds(20));
  }
  const auto first = await("the receive that is too short");
  if (!first) {
    return tl::make_unexpected(first.error());
  }
  Status done = expect_status(first->status, IBV_WC_LOC_LEN_ERR, known_deviation(is_uroce()));
  if (!done) {
    return done;
  }
  const auto second = await("the receive behind it");
  if (!second) {
    return tl::make_unexpected(second.error());
  }
  return expect_status(second->status, IBV_WC_WR_FLUSH_ERR, std::nullopt);
}

Status ResponderPart::to_fail() {
  Status done = prepare_to_fail();
  if (done) {
    done = meet("set", 0);
  }
  if (done) {
    done = meet("failed", 0);
  }
  if (!done || cell().kind == Kind::gone) {
    return done;
  }
  done = expect_state(ends_in_error(cell().kind) ? IBV_QPS_ERR : IBV_QPS_RTS);
  if (done) {
    done = check_failed_receives();
  }
  if (done && is_atomic(cell().op) && word_at(kTarget) != kFirstWord) {
    done = failure(EIO, "a refused atomic has changed the word");
  }
  return done && !is_atomic(cell().op) ? check_guard(kTarget + kShortReceive, kShortReceive) : done;
}

Status ResponderPart::bind_window() {
  const auto window = end().make_window();
  if (!window) {
    return tl::make_unexpected(window.error());
  }
  window_key_ = ibv_inc_rkey((*window)->rkey);
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_BIND_MW;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.bind_mw = {.mw = *window,
                .rkey = window_key_,
                .bind_info = {.mr = end().region(),
                              .addr = reinterpret_cast<uint64_t>(end().memory().data()),
                              .length = end().memory().size(),
                              .mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                                 IBV_ACCESS_REMOTE_ATOMIC}};
  if (const int rc = end().post_send(&wr); rc != 0) {
    return failure(rc, fmt::format("posting the bind was refused with errno {}", rc));
  }
  return await_own(IBV_WC_BIND_MW, "the bind");
}

/// By the SEND that is to come, or by this end itself.
Status ResponderPart::revoke_window() {
  if (cell().op != Op::send_inv) {
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_LOCAL_INV;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.invalidate_rkey = window_key_;
    const int rc = end().post_send(&wr);
    return rc == 0 ? await_own(IBV_WC_LOCAL_INV, "the invalidation")
                   : failure(rc, fmt::format("LOCAL_INV was refused with errno {}", rc));
  }
  const auto wc = await("the SEND that invalidates");
  if (!wc) {
    return tl::make_unexpected(wc.error());
  }
  const bool flagged = (wc->wc_flags & IBV_WC_WITH_INV) != 0;
  if (wc->status != IBV_WC_SUCCESS || wc->invalidated_rkey != window_key_ ||
      (!flagged && is_uroce())) {
    return failure(EIO, fmt::format("the SEND that invalidates completed with '{}', flags {:#x}, "
                                    "key {:#x} instead of {:#x}",
                                    roce::verbs::wc_status_name(wc->status), wc->wc_flags,
                                    wc->invalidated_rkey, window_key_));
  }
  if (!flagged) {  // Soft-RoCE hands out the kernel's own flags, where this is another bit
    note_deviation(fmt::format("completion flags {:#x} without IBV_WC_WITH_INV", wc->wc_flags));
  }
  return check(kTarget + kArea / 2, kMessage, 1);
}

Status ResponderPart::give_window() {
  const uint32_t size = is_atomic(cell().op) ? sizeof(uint64_t) : kMessage;
  if (cell().op == Op::read) {
    fill(kSource, size, 0);
  } else if (!is_atomic(cell().op)) {
    guard(kTarget, size);
    guard(kTarget + kArea / 2, size);
  }
  Status done = cell().op == Op::send_inv ? post(1, kArea / 2, size) : Status{};
  if (done) {
    done = bind_window();
  }
  if (done) {
    done = channel().send_line(std::to_string(window_key_), "the window's key");
  }
  if (done) {
    done = meet("used", 0);
  }
  if (done) {
    done = check_effect(0, 0, size);
  }
  if (done) {
    done = revoke_window();
  }
  if (done) {
    done = meet("revoked", 0);
  }
  if (done) {
    done = meet("failed", 0);
  }
  return done ? expect_state(IBV_QPS_ERR) : done;
}

Status ResponderPart::check_wrong_qkey() {
  guard(kTarget, kMessage + grh_bytes());
  Status done = post(1, 0, kMessage);
  if (done) {
    done = meet("set", 0);
  }
  if (done) {
    done = receive(1, kMessage);
  }
  if (done) {
    done = meet("sent", 0);
  }
  if (done) {
    done = check_effect(1, 0, kMessage);
  }
  return done ? stay_quiet(std::chrono::milliseconds(20)) : done;
}

}  // namespace uroce::rxe
