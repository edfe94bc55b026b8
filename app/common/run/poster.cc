// Lists of work requests.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/run/poster.h"

#include <arpa/inet.h>

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "common/counted_word.h"

namespace uroce::app {
namespace {

constexpr unsigned kSignaled = IBV_SEND_SIGNALED;
constexpr unsigned kInline = IBV_SEND_INLINE;
constexpr uint64_t kNoteId = std::numeric_limits<uint64_t>::max();

ibv_wr_opcode opcode_of(const Messages& messages) {
  switch (messages.operation) {
    case Operation::write:
      return IBV_WR_RDMA_WRITE;
    case Operation::write_imm:
      return IBV_WR_RDMA_WRITE_WITH_IMM;
    case Operation::read:
      return IBV_WR_RDMA_READ;
    case Operation::atomic_fadd:
      return IBV_WR_ATOMIC_FETCH_AND_ADD;
    case Operation::atomic_cswap:
      return IBV_WR_ATOMIC_CMP_AND_SWP;
    case Operation::send:
      break;
  }
  return messages.numbered ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
}

}  // namespace

Poster::Poster(Lane& lane, const Messages& messages)
    : lane_(lane),
      messages_(messages),
      own_(lane.memory.data() + messages.own_offset),
      moving_(messages.fill || messages.marked || messages.own_places > 1 ||
              messages.peer_places > 1 || messages.operation == Operation::write_imm ||
              messages.numbered || messages.operation == Operation::atomic_cswap),
      list_(messages.list),
      sges_(messages.list),
      total_(messages.total) {
  for (size_t i = 0; i < list_.size(); ++i) {
    sges_[i] = {reinterpret_cast<uint64_t>(own_), static_cast<uint32_t>(messages.size), lane.lkey};
    list_[i] = {};
    list_[i].sg_list = &sges_[i];
    list_[i].num_sge = 1;
    list_[i].opcode = opcode_of(messages);
  }
}

void Poster::aim() {
  for (ibv_send_wr& wr : list_) {
    if (lane_.connection.transport() == Transport::ud) {
      wr.wr.ud = {lane_.connection.ah(), lane_.peer.qpn, kQkey};
    } else if (is_atomic(messages_.operation)) {
      wr.wr.atomic.remote_addr = lane_.peer.va;
      wr.wr.atomic.rkey = lane_.peer.rkey;
      wr.wr.atomic.compare_add = 1;
    } else {
      wr.wr.rdma.remote_addr = lane_.peer.va;
      wr.wr.rdma.rkey = lane_.peer.rkey;
    }
  }
}

bool Poster::post(uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    ibv_send_wr& wr = list_[i];
    const uint64_t message = posted_ + i;
    wr.wr_id = message + 1;  // so many are complete when this one is
    wr.next = i + 1 < count ? &list_[i + 1] : nullptr;
    const bool signaled = ++unsignaled_ == messages_.signal_every || message + 1 == total_;
    wr.send_flags = (signaled ? kSignaled : 0U) | (messages_.inlined ? kInline : 0U);
    unsignaled_ = signaled ? 0 : unsignaled_;
    if (moving_) {
      prepare(wr, sges_[i], message);
    }
  }
  ibv_send_wr* bad = nullptr;
  if (refused(lane_.connection.qp().post_send(list_.data(), &bad), "messages")) {
    return false;
  }
  posted_ += count;
  return true;
}

/// Gives a message its places at both ends, and its contents.
void Poster::prepare(ibv_send_wr& wr, ibv_sge& sge, uint64_t message) {
  uint8_t* const at = place_of(message);
  sge.addr = reinterpret_cast<uint64_t>(at);
  if (messages_.operation == Operation::atomic_cswap) {
    wr.wr.atomic.compare_add = word_before(message);
    wr.wr.atomic.swap = word_before(message + 1);
  } else if (messages_.peer_places > 1 && messages_.operation != Operation::send) {
    wr.wr.rdma.remote_addr = lane_.peer.va + message % messages_.peer_places * messages_.stride;
  }
  wr.imm_data = htonl(static_cast<uint32_t>(message + 1));
  if (messages_.fill) {
    messages_.pattern.fill({at, messages_.size},
                           messages_.number_start + message * messages_.number_step);
  }
  if (messages_.marked) {
    at[messages_.size - 1] = Messages::mark(message);
  }
}

bool Poster::post_again() {
  ibv_send_wr* bad = nullptr;
  list_.front().send_flags = IBV_SEND_SIGNALED;
  return !refused(lane_.connection.qp().post_send(list_.data(), &bad), "a message again");
}

bool Poster::post_note(uint32_t value, bool signaled) {
  ibv_send_wr wr{};
  wr.wr_id = kNoteId;
  wr.opcode = IBV_WR_SEND_WITH_IMM;
  wr.imm_data = htonl(value);
  wr.send_flags = signaled ? IBV_SEND_SIGNALED : 0;
  ibv_send_wr* bad = nullptr;
  if (refused(lane_.connection.qp().post_send(&wr, &bad), "a notice")) {
    return false;
  }
  notes_ += signaled ? 1 : 0;
  return true;
}

bool Poster::take() {
  const int count = lane_.connection.send_cq().poll(done_);
  for (int i = 0; i < count; ++i) {
    const ibv_wc& wc = done_[static_cast<size_t>(i)];
    if (wc.status != IBV_WC_SUCCESS) {
      reason_ = failure_text(wc, lane_.connection.qp());
      return false;
    }
    if (wc.wr_id == kNoteId) {
      --notes_;
    } else {
      completed_ = wc.wr_id;
    }
  }
  if (count < 0) {
    reason_ = "the completion queue has overflowed";
  }
  return count >= 0;
}

void Poster::end_early() {
  total_ = std::min(total_, posted_ + (unsignaled_ > 0 ? 1 : 0));
}

bool Poster::refused(int code, std::string_view what) {
  if (code != 0) {
    reason_ = fmt::format("posting {}: {}", what, lane_.connection.qp().post_error());
  }
  return code != 0;
}

}  // namespace uroce::app
