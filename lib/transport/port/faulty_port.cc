// The way of a received frame: rx of the port below -> strike (loss, copy) -> place (corruption,
// delay) -> reorder_stage -> ready_ -> the caller. Frames leave delayed_ and waiting_ by time, by
// count, or when room is short.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/faulty_port.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"

namespace roce {
namespace {

constexpr uint16_t kEtherIpv4 = 0x0800;
constexpr uint16_t kEtherIpv6 = 0x86dd;
constexpr uint16_t kEtherVlan = 0x8100;
constexpr uint8_t kProtoUdp = 17;
constexpr uint16_t kRocePort = 4791;
constexpr size_t kUdpLen = 8;

/// The link header that every blank frame has room for, beside the MTU.
constexpr uint32_t kLinkHeaderRoom = 14 + 4;

bool is_udp_to_roce(std::span<const uint8_t> udp) {
  return udp.size() >= kUdpLen && load_be<uint16_t>(&udp[2]) == kRocePort;
}

bool is_roce_ipv4(std::span<const uint8_t> ip) {
  if (ip.size() < 20 || ip[9] != kProtoUdp) {
    return false;
  }
  const size_t header = size_t{ip[0] & 0x0fU} * 4;
  const bool fragment = (load_be<uint16_t>(&ip[6]) & 0x3fff) != 0;
  return header >= 20 && header <= ip.size() && !fragment && is_udp_to_roce(ip.subspan(header));
}

bool is_roce_ipv6(std::span<const uint8_t> ip) {
  return ip.size() >= 40 && ip[6] == kProtoUdp && is_udp_to_roce(ip.subspan(40));
}

bool is_roce(const Frame& frame) {
  const std::span<const uint8_t> bytes(frame.data, frame.len);
  size_t type_at = 12;
  if (bytes.size() >= type_at + 2 && load_be<uint16_t>(&bytes[type_at]) == kEtherVlan) {
    type_at += 4;
  }
  if (bytes.size() < type_at + 2) {
    return false;
  }
  const uint16_t type = load_be<uint16_t>(&bytes[type_at]);
  const auto ip = bytes.subspan(type_at + 2);
  return (type == kEtherIpv4 && is_roce_ipv4(ip)) || (type == kEtherIpv6 && is_roce_ipv6(ip));
}

bool is_share(double p) {
  return p >= 0 && p <= 1;
}

}  // namespace

FaultyPort::FaultyPort(Port& below, const FaultConfig& config)
    : WrappingPort(below), config_(config), prng_(config.seed) {
  prepare();
}

FaultyPort::FaultyPort(std::unique_ptr<Port> below, const FaultConfig& config)
    : WrappingPort(std::move(below)), config_(config), prng_(config.seed) {
  prepare();
}

void FaultyPort::prepare() {
  const FaultConfig& c = config_;
  ROCE_CHECK(is_share(c.loss) && is_share(c.duplicate) && is_share(c.corrupt));
  ROCE_CHECK(is_share(c.reorder) && is_share(c.delay) && c.loss_burst >= 1);
  ROCE_CHECK(Duration{} <= c.delay_min && c.delay_min <= c.delay_max);
  // Runs of n frames that begin with chance q after each good frame lose n q / (n q + 1 - q) of all
  // frames; solved for q.
  const double n = c.loss_burst;
  burst_start_ = c.loss / (n - c.loss * (n - 1));
  delayed_.reserve(kMaxDelayed);
  waiting_.reserve(kMaxReordered);
  // The port below is asked only while ready_ is empty: at most everything held, and a burst with
  // its copies, meet there.
  ready_.resize(std::bit_ceil(kMaxDelayed + kMaxReordered + 2 * kBurst));
}

FaultyPort::~FaultyPort() {
  for (Delayed& d : delayed_) {
    below().release({&d.frame, 1});
  }
  for (Waiting& w : waiting_) {
    below().release({&w.frame, 1});
  }
  Frame frame;
  while (hand_up({&frame, 1}) != 0) {
    below().release({&frame, 1});
  }
}

size_t FaultyPort::rx_burst(Instant now, std::span<Frame> frames) {
  release_due(now);
  size_t n = hand_up(frames);
  while (n < frames.size()) {
    const size_t wanted = std::min(burst_.size(), frames.size() - n);
    const size_t got = below().rx_burst(now, std::span(burst_).first(wanted));
    receive(now, std::span(burst_).first(got));
    n += hand_up(frames.subspan(n));
    if (got < wanted) {
      break;
    }
  }
  return n;
}

Instant FaultyPort::next_event() const {
  if (emitted_ != handed_up_) {
    return Instant{};
  }
  Instant earliest = below().next_event();
  if (!delayed_.empty()) {
    earliest = std::min(earliest, delayed_.front().due);
  }
  if (!waiting_.empty()) {
    earliest = std::min(earliest, waiting_.front().due);
  }
  return earliest;
}

PortStats FaultyPort::stats() const {
  PortStats s = below().stats();
  s.rx_frames = handed_up_;
  s.rx_missed += counters_.lost;
  return s;
}

void FaultyPort::receive(Instant now, std::span<const Frame> frames) {
  for (const Frame& f : frames) {
    if (is_roce(f)) {
      strike(now, f);
    } else {
      emit(f);
    }
  }
}

void FaultyPort::strike(Instant now, Frame frame) {
  counters_.seen++;
  if (burst_left_ == 0 && prng_.chance(burst_start_)) {
    burst_left_ = config_.loss_burst;
  }
  if (burst_left_ != 0) {
    burst_left_--;
    counters_.lost++;
    below().release({&frame, 1});
    return;
  }
  // Copied before its original may be corrupted.
  const Frame second = prng_.chance(config_.duplicate) ? copy_of(frame) : Frame{};
  place(now, frame);
  if (second.data != nullptr) {
    place(now, second);
  }
}

/// A second frame with the same bytes, or one without data when there is no buffer for it.
Frame FaultyPort::copy_of(const Frame& frame) {
  Frame copy;
  if (frame.len > info().mtu + kLinkHeaderRoom || below().alloc({&copy, 1}) == 0) {
    counters_.not_copied++;
    return Frame{};
  }
  std::memcpy(copy.data, frame.data, frame.len);
  copy.len = frame.len;
  counters_.duplicated++;
  return copy;
}

void FaultyPort::place(Instant now, Frame frame) {
  if (prng_.chance(config_.corrupt)) {
    corrupt(frame);
  }
  if (!prng_.chance(config_.delay)) {
    reorder_stage(now, frame);
    return;
  }
  if (delayed_.size() == kMaxDelayed) {
    counters_.released_early++;
    release_earliest_delayed(now);
  }
  const auto spread = static_cast<double>((config_.delay_max - config_.delay_min).ns + 1);
  const auto extra = Duration::from_ns(static_cast<int64_t>(prng_.unit() * spread));
  delayed_.push_back(Delayed{now + config_.delay_min + extra, serial_++, frame});
  std::push_heap(delayed_.begin(), delayed_.end(), later);
  counters_.delayed++;
}

void FaultyPort::corrupt(Frame& frame) {
  counters_.corrupted++;
  if (prng_.below(8) == 0) {
    frame.len = 1 + prng_.below(frame.len - 1);
    return;
  }
  // Different bits, lest one flip undo another.
  std::array<uint32_t, 3> bits{};
  const size_t count = 1 + prng_.below(bits.size());
  for (size_t i = 0; i < count; i++) {
    const auto drawn = bits.begin() + static_cast<std::ptrdiff_t>(i);
    do {
      bits[i] = prng_.below(frame.len * 8);
    } while (std::find(bits.begin(), drawn, bits[i]) != drawn);
    frame.data[bits[i] / 8] ^= static_cast<uint8_t>(1U << (bits[i] % 8));
  }
}

void FaultyPort::reorder_stage(Instant now, const Frame& frame) {
  if (!prng_.chance(config_.reorder)) {
    emit(frame);
    return;
  }
  if (waiting_.size() == kMaxReordered) {
    counters_.released_early++;
    emit(take_waiting(0));
  }
  waiting_.push_back(Waiting{now + kReorderHold, emitted_ + 1 + prng_.below(kMaxPassing), frame});
  counters_.reordered++;
}

bool FaultyPort::later(const Delayed& a, const Delayed& b) {
  return a.due != b.due ? a.due > b.due : a.serial > b.serial;
}

void FaultyPort::release_earliest_delayed(Instant now) {
  std::pop_heap(delayed_.begin(), delayed_.end(), later);
  const Frame frame = delayed_.back().frame;
  delayed_.pop_back();
  reorder_stage(now, frame);
}

void FaultyPort::release_due(Instant now) {
  while (!delayed_.empty() && delayed_.front().due <= now) {
    release_earliest_delayed(now);
  }
  while (!waiting_.empty() && waiting_.front().due <= now) {
    emit(take_waiting(0));
  }
}

/// Makes `frame` ready, and then those that waited for it to pass.
void FaultyPort::emit(const Frame& frame) {
  push_ready(frame);
  for (size_t i = 0; i < waiting_.size();) {
    if (waiting_[i].passed_by <= emitted_) {
      push_ready(take_waiting(i));
      i = 0;
    } else {
      i++;
    }
  }
}

void FaultyPort::push_ready(const Frame& frame) {
  ROCE_DCHECK(emitted_ - handed_up_ < ready_.size());
  ready_[emitted_++ & (ready_.size() - 1)] = frame;
}

Frame FaultyPort::take_waiting(size_t i) {
  const Frame frame = waiting_[i].frame;
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
  return frame;
}

size_t FaultyPort::hand_up(std::span<Frame> frames) {
  const size_t n = std::min<size_t>(frames.size(), emitted_ - handed_up_);
  for (Frame& f : frames.first(n)) {
    f = ready_[handed_up_++ & (ready_.size() - 1)];
  }
  return n;
}

}  // namespace roce
