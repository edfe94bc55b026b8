// The loops of the three operations.
// SPDX-License-Identifier: BSD-3-Clause
#include "pinger.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>

#include <fmt/format.h>

namespace uroce::pingpong {
namespace {

using roce::failure;
using roce::Status;

// What ibverbs-utils fill their buffers with: this, and one more at the server.
constexpr uint8_t kStockByte = 0x7b;
constexpr size_t kPage = 4096;
// An engine on another core answers within this many looks, or is asked for the CPU.
constexpr uint32_t kSpins = 64;
// Memory that is polled may show its last byte before the ones in front of it.
constexpr roce::Duration kSettleLimit = roce::Duration::from_ms(500);

/// The byte that ends WRITE number `number`: never the one before, and not 0 at first.
uint8_t mark(uint64_t number) {
  return static_cast<uint8_t>(number + 1);
}

}  // namespace

Pinger::Pinger(const Plan& plan, roce::Endpoint& endpoint, app::RcConnection& connection,
               const app::HostMemory& memory, const roce::verbs::Mr& mr, app::RunWatch& watch)
    : plan_(plan),
      endpoint_(endpoint),
      connection_(connection),
      memory_(memory),
      mr_(mr),
      watch_(watch),
      pattern_(plan.seed),
      drives_(endpoint.config().engine.drive == roce::Drive::rtc) {
  if (plan.operation == Operation::read) {
    for (uint64_t i = 0; i < Plan::kReceivePlaces; ++i) {
      pattern_.fill({memory.data() + i * plan.stride(), plan.size}, i);
    }
    return;
  }
  const uint8_t filler = plan.server ? kStockByte + 1 : kStockByte;
  for (uint64_t i = 0; i < plan.send_places(); ++i) {
    std::memset(send_place(i), filler, plan.size);
    for (size_t page = 0; plan.stock && plan.validate && page < plan.size; page += kPage) {
      send_place(i)[page] = 0;  // what their -c looks for
    }
  }
}

Status Pinger::prepare(uint32_t recv_depth) {
  recv_depth_ = recv_depth;
  recv_sge_ = {
      {reinterpret_cast<uint64_t>(receive_place()), static_cast<uint32_t>(plan_.size), mr_.lkey()}};
  recv_list_.resize(recv_depth);
  for (size_t i = 0; i < recv_list_.size(); ++i) {
    recv_list_[i] = {.wr_id = i,
                     .next = i + 1 < recv_list_.size() ? &recv_list_[i + 1] : nullptr,
                     .sg_list = recv_sge_.data(),
                     .num_sge = 1};
  }
  if (plan_.operation == Operation::send && !post_receives(recv_depth)) {
    return failure(EINVAL, watch_.reason());
  }
  return {};
}

bool Pinger::post_receives(uint32_t count) {
  ibv_recv_wr* bad = nullptr;
  if (connection_.qp().post_recv(&recv_list_[recv_list_.size() - count], &bad) != 0) {
    watch_.fail(fmt::format("posting receives: {}", connection_.qp().post_error()));
    return false;
  }
  receives_ += count;
  return true;
}

Outcome Pinger::run(const app::QpAddress& peer, app::Progress& progress) {
  peer_ = peer;
  progress_ = &progress;
  const roce::Instant start = endpoint_.now();
  last_ = start;
  if (plan_.operation == Operation::read) {
    read();
  } else {
    bounce();
  }
  outcome_.seconds = static_cast<double>((endpoint_.now() - start).ns) / 1e9;
  return std::move(outcome_);
}

void Pinger::bounce() {
  for (uint64_t k = 0; k < plan_.iterations && watch_.running(); ++k) {
    if (!plan_.server && !send(k)) {
      return;
    }
    if (!await(k)) {
      return;
    }
    // At the server the first message comes when the client starts, not after a round trip.
    if (!plan_.server || k > 0) {
      note_round_trip(k);
    } else {
      last_ = endpoint_.now();
    }
    if (!accept(k) || (plan_.server && !send(k))) {
      return;
    }
    outcome_.iterations = k + 1;
  }
}

void Pinger::read() {
  for (uint64_t k = 0; k < plan_.iterations && watch_.running(); ++k) {
    ibv_sge sge{reinterpret_cast<uint64_t>(receive_place()), static_cast<uint32_t>(plan_.size),
                mr_.lkey()};
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_RDMA_READ;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.send_flags = IBV_SEND_SIGNALED;
    // Two sources in turn: what was left from the READ before is never what is expected.
    wr.wr.rdma.remote_addr = peer_.va + (k % Plan::kReceivePlaces) * plan_.stride();
    wr.wr.rdma.rkey = peer_.rkey;
    if (!post(wr, k) || !drain()) {
      return;
    }
    note_round_trip(k);
    if (!accept(k)) {
      return;
    }
    outcome_.iterations = k + 1;
  }
}

void Pinger::note_round_trip(uint64_t number) {
  const roce::Instant now = endpoint_.now();
  outcome_.times.record(static_cast<uint64_t>((now - last_).ns));
  last_ = now;
  if (number % 64 == 0) {
    watch_.alive(now);
    watch_.look(now);
    progress_->update(now, number);
  }
}

/// SENDs or WRITEs message `number`.
bool Pinger::send(uint64_t number) {
  uint32_t idle = 0;
  while (posted_ - completed_ >= plan_.send_places()) {
    if (!step(idle)) {
      return false;
    }
    poll_sends();
  }
  fill(number);
  ibv_sge sge{reinterpret_cast<uint64_t>(send_place(number)), static_cast<uint32_t>(plan_.size),
              mr_.lkey()};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  if (plan_.operation == Operation::write) {
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.wr.rdma.remote_addr = peer_.va;
    wr.wr.rdma.rkey = peer_.rkey;
  }
  // Twice a round of places: half of them can be taken again while the others are under way.
  const uint64_t batch = plan_.send_places() / 2;
  const bool signaled = number % batch == batch - 1 || number + 1 == plan_.iterations;
  wr.send_flags = signaled ? IBV_SEND_SIGNALED : 0;
  return post(wr, number);
}

bool Pinger::post(ibv_send_wr& wr, uint64_t number) {
  wr.wr_id = number + 1;  // so many are complete when this one is
  ibv_send_wr* bad = nullptr;
  if (connection_.qp().post_send(&wr, &bad) != 0) {
    watch_.fail(fmt::format("posting message {}: {}", number, connection_.qp().post_error()));
    return false;
  }
  posted_ = number + 1;
  return true;
}

void Pinger::fill(uint64_t number) {
  if (plan_.validate && !plan_.stock) {
    pattern_.fill({send_place(number), plan_.size}, pattern_number(number, plan_.server));
  }
  if (plan_.operation == Operation::write) {
    send_place(number)[plan_.size - 1] = mark(number);
  }
}

/// One round of waiting; false when the run has to end.
bool Pinger::step(uint32_t& idle) {
  ++idle;
  if (drives_ || idle > kSpins) {
    endpoint_.poll();
  }
  if (idle % kSpins == 0) {
    poll_sends();  // where an error would show
    watch_.look(endpoint_.now());
  }
  return watch_.running();
}

void Pinger::poll_sends() {
  std::array<ibv_wc, 8> done{};
  const int count = connection_.send_cq().poll(done);
  for (int i = 0; i < count; ++i) {
    const ibv_wc& wc = done[static_cast<size_t>(i)];
    if (wc.status != IBV_WC_SUCCESS) {
      watch_.fail(app::failure_text(wc));
      return;
    }
    completed_ = wc.wr_id;
  }
}

bool Pinger::drain() {
  uint32_t idle = 0;
  poll_sends();
  while (completed_ < posted_) {
    if (!step(idle)) {
      return false;
    }
    poll_sends();
  }
  return !watch_.failed();
}

/// Waits for message `number` to arrive.
bool Pinger::await(uint64_t number) {
  return plan_.operation == Operation::send ? await_receive() : await_byte(number);
}

bool Pinger::await_receive() {
  std::array<ibv_wc, 1> done{};
  uint32_t idle = 0;
  int count = 0;
  while ((count = connection_.recv_cq().poll(done)) == 0) {
    if (!step(idle)) {
      return false;
    }
  }
  if (count < 0) {
    watch_.fail("the completion queue has overflowed");
    return false;
  }
  take_receive(done[0]);
  return !watch_.failed();
}

void Pinger::take_receive(const ibv_wc& wc) {
  if (wc.status != IBV_WC_SUCCESS) {
    watch_.fail(app::failure_text(wc));
    return;
  }
  if (wc.byte_len != plan_.size) {
    watch_.fail(
        fmt::format("a message of {} bytes came where {} were due; give both ends one "
                    "--size",
                    wc.byte_len, plan_.size));
    return;
  }
  // In batches, and before the answer that lets the next message come.
  if (--receives_ <= recv_depth_ / 2) {
    post_receives(recv_depth_ - receives_);
  }
}

bool Pinger::await_byte(uint64_t number) {
  std::atomic_ref<uint8_t> last(receive_place()[plan_.size - 1]);
  uint32_t idle = 0;
  while (last.load(std::memory_order_acquire) != mark(number)) {
    if (!step(idle)) {
      return false;
    }
  }
  return true;
}

/// Checks what has arrived as message `number`, if that is asked for.
bool Pinger::accept(uint64_t number) {
  if (!plan_.validate) {
    return true;
  }
  if (plan_.stock) {
    return accept_stock();
  }
  const roce::Instant give_up = endpoint_.now() + kSettleLimit;
  auto wrong = compare(number);
  while (wrong && plan_.operation == Operation::write && endpoint_.now() < give_up) {
    endpoint_.poll();
    wrong = compare(number);
  }
  if (wrong) {
    watch_.fail(fmt::format("wrong data: {}", app::text_of(*wrong)));
    return false;
  }
  ++outcome_.checked;
  return true;
}

bool Pinger::accept_stock() {
  for (size_t page = 0; page < plan_.size; page += kPage) {
    if (receive_place()[page] != 0) {
      watch_.fail(fmt::format("invalid data in page {}", page / kPage));
      return false;
    }
  }
  ++outcome_.checked;
  return true;
}

std::optional<app::WrongByte> Pinger::compare(uint64_t number) const {
  // The mark at a WRITE's end has been seen already.
  const uint64_t length = plan_.size - (plan_.operation == Operation::write ? 1 : 0);
  const uint64_t expected = plan_.operation == Operation::read
                                ? number % Plan::kReceivePlaces
                                : pattern_number(number, !plan_.server);
  auto wrong = pattern_.check({receive_place(), length}, expected);
  if (wrong) {
    wrong->message = number;
  }
  return wrong;
}

}  // namespace uroce::pingpong
