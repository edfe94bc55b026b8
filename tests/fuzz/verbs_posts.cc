// Posting work requests.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "fuzz/verbs_session.h"

namespace roce::fuzz {

uint32_t VerbsSession::key() {
  verbs::Mr* const mr = pick(mrs_, in_);
  verbs::Mw* const mw = pick(mws_, in_);
  switch (in_.byte() % 8) {
    case 6:
      return mw != nullptr ? mw->rkey() : 0;
    case 7:
      return in_.number<uint32_t>();
    default:
      return mr != nullptr ? mr->rkey() : 0;
  }
}

uint64_t VerbsSession::remote_address() {
  return in_.byte() % 8 == 7
             ? in_.number<uint64_t>()
             : reinterpret_cast<uint64_t>(world_.arena.data()) + in_.below(kArena / 8) * 8;
}

/// Fills the list; returns how many entries to name, which may be wrong.
int VerbsSession::sges() {
  for (size_t i = 0; i < 3; ++i) {
    // Also what is inline lies in the arena: its key is not looked at.
    const size_t offset = in_.below(kArena);
    const size_t length = in_.byte() % 4 == 3 ? in_.below(kArena) : in_.byte();
    sge_[i] = {reinterpret_cast<uint64_t>(world_.arena.data()) + offset,
               static_cast<uint32_t>(std::min(length, kArena - offset)), key()};
  }
  return in_.byte() % 8 == 7 ? static_cast<int>(in_.byte() % (kSges + 2)) - 1 : in_.byte() % 3;
}

void VerbsSession::post_send() {
  LiveQp* const live = pick(qps_, in_);
  if (live == nullptr) {
    return;
  }
  verbs::Qp* const qp = &live->qp;
  ibv_send_wr wr{};
  wr.num_sge = std::min(sges(), static_cast<int>(kSges));
  wr.sg_list = sge_.data();
  // Not all of these numbers are values of the enumeration.
  const uint32_t opcode = in_.byte() % 18u;
  std::memcpy(&wr.opcode, &opcode, sizeof opcode);
  wr.send_flags = in_.byte();
  wr.imm_data = in_.byte();
  if (live->type == IBV_QPT_UD) {
    verbs::Ah* const ah = pick(ahs_, in_);
    wr.wr.ud = {ah != nullptr ? ah->ibv() : nullptr, in_.flag() ? 0xffffff : qp->qpn(), in_.byte()};
  } else if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    wr.wr.atomic = {remote_address(), in_.byte(), in_.byte(), key()};
  } else {
    wr.wr.rdma = {remote_address(), key()};
  }
  if (opcode == IBV_WR_LOCAL_INV || opcode == IBV_WR_SEND_WITH_INV) {
    wr.invalidate_rkey = key();
  }
  verbs::Mw* const mw = pick(mws_, in_);
  verbs::Mr* const mr = pick(mrs_, in_);
  if (opcode == IBV_WR_BIND_MW && mw != nullptr && mr != nullptr) {
    wr.bind_mw = {mw->ibv(),
                  in_.flag() ? ibv_inc_rkey(mw->rkey()) : size(),
                  {mr->ibv(), remote_address(), size(), static_cast<unsigned>(access())}};
  }
  ibv_send_wr second = wr;
  wr.next = in_.flag() ? &second : nullptr;
  ibv_send_wr* bad = nullptr;
  const int rc = in_.flag() ? qp->post_send_all(&wr) : qp->post_send(&wr, &bad);
  ROCE_CHECK(rc >= 0 && (rc == 0 || !qp->post_error().empty()));
}

void VerbsSession::post_receive() {
  ibv_recv_wr wr{};
  wr.num_sge = std::min(sges(), static_cast<int>(kSges));
  wr.sg_list = sge_.data();
  ibv_recv_wr* bad = nullptr;
  verbs::Srq* const srq = in_.flag() ? pick(srqs_, in_) : nullptr;
  verbs::Qp* const qp = pick_qp();
  int rc = 0;
  if (srq != nullptr) {
    rc = srq->post_recv(&wr, &bad);
  } else if (qp != nullptr) {
    rc = qp->post_recv(&wr, &bad);
  }
  ROCE_CHECK(rc >= 0 && (rc == 0 || bad == &wr));
}

void VerbsSession::post_special() {
  verbs::Qp* const qp = pick_qp();
  verbs::Mw* const mw = pick(mws_, in_);
  verbs::Mr* const mr = pick(mrs_, in_);
  if (qp == nullptr) {
    return;
  }
  if (in_.flag() && mw != nullptr && mr != nullptr) {
    ibv_mw_bind bind{};
    bind.bind_info = {mr->ibv(), remote_address(), size(), static_cast<unsigned>(access())};
    bind.send_flags = in_.byte();
    ROCE_CHECK(qp->bind_mw(*mw, bind) >= 0);
    return;
  }
  ROCE_CHECK(qp->post_flush({1, remote_address(), key(), size(), in_.flag(), in_.byte()}) >= 0);
}

}  // namespace roce::fuzz
