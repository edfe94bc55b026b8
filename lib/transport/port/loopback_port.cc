// The two ends of a loopback link: each sends into the other's receive queue.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/loopback_port.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "base/check.h"
#include "port/buffer_pool.h"

namespace roce {
namespace {

/// Frames on their way to one side, oldest first. Bounded, one thread.
class FrameQueue {
 public:
  explicit FrameQueue(uint32_t capacity)
      : capacity_(capacity),
        mask_(std::bit_ceil(size_t{capacity}) - 1),
        slots_(std::make_unique<Slot[]>(mask_ + 1)) {
    ROCE_CHECK(capacity >= 1);
  }

  size_t size() const { return tail_ - head_; }
  size_t room() const { return capacity_ - size(); }

  /// Requires room() > 0.
  void push(const Frame& f) { slots_[tail_++ & mask_] = Slot{f.data, f.cookie, f.len}; }

  /// Requires size() > 0.
  Frame pop() {
    const Slot& s = slots_[head_++ & mask_];
    return Frame{.data = s.data, .len = s.len, .cookie = s.cookie};
  }

 private:
  /// A contiguous frame, packed: queues are walked end to end, so their cache lines count.
  struct Slot {
    uint8_t* data;
    void* cookie;
    uint32_t len;
  };

  const size_t capacity_;
  const size_t mask_;
  const std::unique_ptr<Slot[]> slots_;
  size_t head_ = 0;  ///< grows without bound, as tail_ does
  size_t tail_ = 0;
};

class LoopbackPort final : public Port {
 public:
  LoopbackPort(PortInfo info, BufferPool& pool, FrameQueue& in, FrameQueue& out)
      : info_(std::move(info)), pool_(pool), in_(in), out_(out) {}

  const PortInfo& info() const override { return info_; }
  bool link_up() override { return true; }

  size_t rx_burst(Instant /*now*/, std::span<Frame> frames) override {
    const size_t n = std::min(frames.size(), in_.size());
    for (Frame& f : frames.first(n)) {
      f = in_.pop();
    }
    stats_.rx_frames += n;
    return n;
  }

  size_t alloc(std::span<Frame> frames) override {
    const size_t n = pool_.take(frames);
    stats_.alloc_failed += frames.size() - n;
    return n;
  }

  size_t tx_burst(Instant /*now*/, std::span<Frame> frames) override {
    const size_t n = std::min(frames.size(), out_.room());
    for (Frame& f : frames.first(n)) {
      if (f.segment_count != 0) {
        ROCE_DCHECK(f.segment_count <= kLoopbackSegments);
        pool_.linearise(f);
        gathered_++;
      }
      out_.push(f);
    }
    stats_.tx_frames += n;
    stats_.tx_refused += frames.size() - n;
    return n;
  }

  void release(std::span<Frame> frames) override {
    for (const Frame& f : frames) {
      pool_.give(f.cookie);
    }
  }

  uint64_t gather_done() override { return gathered_; }

  /// A frame in the queue can be had at once.
  Instant next_event() const override { return in_.size() != 0 ? Instant{} : kNever; }

  PortStats stats() const override { return stats_; }

 private:
  const PortInfo info_;
  BufferPool& pool_;
  FrameQueue& in_;
  FrameQueue& out_;
  PortStats stats_;
  uint64_t gathered_ = 0;
};

}  // namespace

struct LoopbackLink::State {
  explicit State(const LoopbackConfig& c)
      : pool(c.buffers, c.mtu),
        to_a(c.queue),
        to_b(c.queue),
        a(PortInfo{.name = "loopback_a",
                   .mac = c.mac_a,
                   .mtu = c.mtu,
                   .max_segments = kLoopbackSegments},
          pool, to_a, to_b),
        b(PortInfo{.name = "loopback_b",
                   .mac = c.mac_b,
                   .mtu = c.mtu,
                   .max_segments = kLoopbackSegments},
          pool, to_b, to_a) {
    ROCE_CHECK(c.buffers >= 1);
  }

  BufferPool pool;
  FrameQueue to_a;
  FrameQueue to_b;
  LoopbackPort a;
  LoopbackPort b;
};

LoopbackLink::LoopbackLink(const LoopbackConfig& config)
    : state_(std::make_unique<State>(config)) {}

LoopbackLink::~LoopbackLink() = default;

Port& LoopbackLink::a() {
  return state_->a;
}

Port& LoopbackLink::b() {
  return state_->b;
}

size_t LoopbackLink::free_buffers() const {
  return state_->pool.available();
}

}  // namespace roce
