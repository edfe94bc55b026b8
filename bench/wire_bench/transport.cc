// The measured loops over verbs: nothing in them but posting, polling and counting.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire_bench/transport.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <roce/counters.h>

#include "bring_up.h"
#include "common/histogram.h"
#include "wire_bench/slice_meter.h"

namespace uroce::wire_bench {
namespace {

using roce::Duration;
using roce::Instant;
using roce::Result;
using roce::Status;
namespace verbs = roce::verbs;

constexpr uint32_t kLargeDepth = 8;  // large messages under way
constexpr uint32_t kSmall = 4096;    // smaller messages have a place of their own each
constexpr Duration kDrainLimit = Duration::from_s(5);
constexpr Duration kLinkLimit = Duration::from_s(5);
constexpr Duration kSettle = Duration::from_ms(2);  // for the last ACKs to come and go

size_t percent_of(const Command& command) {
  return command.best_slices ? 90 : 50;
}

tl::unexpected<roce::Error> pass_on(const roce::Error& error) {
  return tl::make_unexpected(error);
}

}  // namespace

Result<std::unique_ptr<Transport>> Transport::create(roce::Port& port, LoopClock& clock,
                                                     const roce::Config& config) {
  auto device = roce::create_device(config, 0, port, clock);
  if (!device) {
    return pass_on(device.error());
  }
  app::ConnectionOptions options;
  options.send_depth = kSendDepth + kSignalEvery;  // single requests may be left unsignaled
  options.recv_depth = kRecvDepth;
  if (auto s = app::complete(**device, options); !s) {
    return pass_on(s.error());
  }
  auto memory = app::HostMemory::allocate(size_t{2} * kLargest + size_t{kRecvChunk} * kRecvStep);
  if (!memory) {
    return pass_on(memory.error());
  }
  const auto pd = (*device)->alloc_pd();
  if (!pd) {
    return pass_on(pd.error());
  }
  auto connection = app::Connection::create(**device, *pd, options);
  if (!connection) {
    return pass_on(connection.error());
  }
  auto mr = app::register_memory(**device, *pd, memory->bytes());
  if (!mr) {
    return pass_on(mr.error());
  }
  std::unique_ptr<Transport> made(new Transport(clock, std::move(*device), options,
                                                std::move(*memory), std::move(*connection),
                                                std::move(*mr)));
  made->build_receives();
  for (uint32_t i = 0; i < kRecvDepth / kRecvChunk; ++i) {
    if (!made->post_receives()) {
      return made->failed();
    }
  }
  return made;
}

Transport::Transport(LoopClock& clock, std::unique_ptr<verbs::Device> device,
                     app::ConnectionOptions options, app::HostMemory memory,
                     app::Connection connection, verbs::Mr mr)
    : clock_(clock),
      device_(std::move(device)),
      options_(options),
      memory_(std::move(memory)),
      connection_(std::move(connection)),
      mr_(std::move(mr)) {}

EndAddress Transport::address() const {
  return {connection_.gid(),
          {.qpn = connection_.qpn(),
           .psn = connection_.psn(),
           .rkey = mr_.rkey(),
           .va = reinterpret_cast<uint64_t>(mr_.addr()),
           .length = mr_.length()}};
}

uint64_t Transport::retransmitted() const {
  return device_->qp_counters().retransmitted;
}

Status Transport::connect(const EndAddress& peer) {
  peer_ = peer;
  const Instant give_up = clock_.now() + kLinkLimit;
  while (!device_->link_up()) {
    poll();
    if (clock_.last() > give_up) {
      return roce::failure(ENOLINK, "the link between the two ends did not come up");
    }
  }
  return connection_.connect(peer.gid, peer.qp.qpn, peer.qp.psn);
}

bool Transport::fail(std::string reason) {
  reason_ = std::move(reason);
  return false;
}

/// Each has a place of its own for a small message and room for a large one.
void Transport::build_receives() {
  for (uint32_t i = 0; i < kRecvChunk; ++i) {
    recv_sges_[i] = {reinterpret_cast<uint64_t>(memory_.data() + kLargest + size_t{i} * kRecvStep),
                     kLargest, mr_.lkey()};
    recv_list_[i] = {.wr_id = i,
                     .next = i + 1 < kRecvChunk ? &recv_list_[i + 1] : nullptr,
                     .sg_list = &recv_sges_[i],
                     .num_sge = 1};
  }
}

bool Transport::post_receives() {
  ibv_recv_wr* bad = nullptr;
  return connection_.qp().post_recv(recv_list_.data(), &bad) == 0 ||
         fail(fmt::format("posting receives: {}", connection_.qp().post_error()));
}

/// A list of `count` equal requests, of which the last is signaled.
void Transport::build_sends(ibv_wr_opcode opcode, uint32_t size, uint32_t count) {
  send_sges_.assign(count, {});
  send_list_.assign(count, {});
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t place = size <= kSmall ? uint64_t{i} * size : 0;
    send_sges_[i] = {reinterpret_cast<uint64_t>(memory_.data()) + place, size, mr_.lkey()};
    ibv_send_wr& wr = send_list_[i];
    const bool last = i + 1 == count;
    wr.next = last ? nullptr : &send_list_[i + 1];
    wr.sg_list = &send_sges_[i];
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.send_flags = last ? IBV_SEND_SIGNALED : 0;
    if (opcode != IBV_WR_SEND) {
      wr.wr.rdma.remote_addr = peer_.qp.va + kLargest + place;
      wr.wr.rdma.rkey = peer_.qp.rkey;
    }
  }
}

bool Transport::post_sends() {
  posted_ += send_list_.size();
  send_list_.back().wr_id = posted_;  // so many are complete when this one is
  ibv_send_wr* bad = nullptr;
  return connection_.qp().post_send(send_list_.data(), &bad) == 0 ||
         fail(fmt::format("posting sends: {}", connection_.qp().post_error()));
}

bool Transport::take_sends() {
  const int n = connection_.send_cq().poll(completions_);
  for (int i = 0; i < n; ++i) {
    const ibv_wc& wc = completions_[static_cast<size_t>(i)];
    if (wc.status != IBV_WC_SUCCESS) {
      return fail(app::failure_text(wc, connection_.qp()));
    }
    completed_ = wc.wr_id;
  }
  return n >= 0 || fail("a send completion was lost");
}

/// How many messages have come since the last call; the receives they took are posted again.
std::optional<uint32_t> Transport::take_receives() {
  const int n = connection_.recv_cq().poll(completions_);
  if (n < 0) {
    fail("a receive completion was lost");
    return std::nullopt;
  }
  for (int i = 0; i < n; ++i) {
    const ibv_wc& wc = completions_[static_cast<size_t>(i)];
    if (wc.status != IBV_WC_SUCCESS) {
      fail(app::failure_text(wc, connection_.qp()));
      return std::nullopt;
    }
  }
  used_receives_ += static_cast<uint32_t>(n);
  while (used_receives_ >= kRecvChunk) {
    used_receives_ -= kRecvChunk;
    if (!post_receives()) {
      return std::nullopt;
    }
  }
  return static_cast<uint32_t>(n);
}

Result<double> Transport::stream(ibv_wr_opcode opcode, const Command& command) {
  const bool large = command.size > kSmall;
  build_sends(opcode, command.size, large ? 1 : kSignalEvery);
  const uint64_t depth = large ? kLargeDepth : kSendDepth;
  const uint64_t before_all = posted_;
  SliceMeter meter(clock_.now() + command.warm_up, command.measured, large);
  while (clock_.last() < meter.end()) {
    const uint64_t under_way = posted_ - std::max(completed_, before_all);
    if (under_way + send_list_.size() <= depth && !post_sends()) {
      return failed();
    }
    poll();
    const uint64_t before = completed_;
    if (!take_sends()) {
      return failed();
    }
    meter.add(clock_.last(), completed_ - before);
  }
  if (!drain()) {
    return failed();
  }
  return meter.percentile(percent_of(command));
}

Result<double> Transport::receive(const Command& command, const std::atomic<bool>& stop) {
  std::optional<SliceMeter> meter;
  while (!stop.load(std::memory_order_relaxed)) {
    poll();
    const auto came = take_receives();
    if (!came) {
      return failed();
    }
    if (!meter && *came > 0) {
      meter.emplace(clock_.last() + command.warm_up, command.measured, command.size > kSmall);
    }
    if (meter) {
      meter->add(clock_.last(), *came);
    }
  }
  settle();
  if (!meter) {
    return roce::failure(ETIMEDOUT, "no message came");
  }
  return meter->percentile(percent_of(command));
}

void Transport::serve(const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed)) {
    poll();
  }
  settle();
}

/// Posts the only request of the list; every kSignalEvery-th is signaled.
bool Transport::send_one() {
  send_list_.front().send_flags = (posted_ + 1) % kSignalEvery == 0 ? IBV_SEND_SIGNALED : 0;
  while (posted_ - completed_ >= kSendDepth / 2) {
    poll();
    if (!take_sends()) {
      return false;
    }
  }
  return post_sends();
}

Result<RoundTrips> Transport::ping(const Command& command) {
  build_sends(IBV_WR_SEND, command.size, 1);
  app::Histogram times;
  const Instant begin = clock_.now() + command.warm_up;
  const Instant end = begin + command.measured;
  for (Instant start = clock_.now(); start < end; start = clock_.now()) {
    if (!send_one()) {
      return failed();
    }
    for (uint32_t came = 0; came == 0;) {
      poll();
      const auto taken = take_receives();
      if (!taken || clock_.last() - start > kDrainLimit) {
        fail(taken ? "no message came back" : reason_);
        return failed();
      }
      came = *taken;
    }
    if (start >= begin) {
      times.record(static_cast<uint64_t>((clock_.now() - start).ns));
    }
  }
  settle();
  return RoundTrips{static_cast<double>(times.percentile(50)),
                    static_cast<double>(times.percentile(99))};
}

Status Transport::pong(const Command& command, const std::atomic<bool>& stop) {
  build_sends(IBV_WR_SEND, command.size, 1);
  while (!stop.load(std::memory_order_relaxed)) {
    poll();
    auto came = take_receives();
    if (!came) {
      return failed();
    }
    for (; *came > 0; --*came) {
      if (!send_one()) {
        return failed();
      }
    }
  }
  settle();
  return {};
}

/// Waits for all that was posted. Requires that the last request was signaled.
bool Transport::drain() {
  const Instant give_up = clock_.last() + kDrainLimit;
  while (completed_ != posted_) {
    poll();
    if (!take_sends()) {
      return false;
    }
    if (clock_.last() > give_up) {
      return fail(fmt::format("{} requests did not complete", posted_ - completed_));
    }
  }
  return true;
}

void Transport::settle() {
  for (const Instant end = clock_.now() + kSettle; clock_.last() < end;) {
    poll();
  }
}

}  // namespace uroce::wire_bench
