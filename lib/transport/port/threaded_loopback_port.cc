// The two ends of a loopback link between two threads. Four rings connect them, two a direction:
// frames one way, the buffers of those frames back the other way.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/threaded_loopback_port.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/check.h"
#include "port/buffer_pool.h"
#include "ring/spsc_ring.h"

namespace roce {
namespace {

/// A contiguous frame under way.
struct Slot {
  uint8_t* data = nullptr;
  void* cookie = nullptr;
  uint32_t len = 0;
};

/// What goes from one side to the other, and its buffers on their way home.
struct Direction {
  explicit Direction(const LoopbackConfig& c) : frames(c.queue), returned(c.buffers) {}

  SpscRing<Slot> frames;
  SpscRing<void*> returned;  ///< holds the sender's whole pool, so a return never fails
};

class ThreadedLoopbackPort final : public Port {
 public:
  ThreadedLoopbackPort(PortInfo info, uint32_t buffers, Direction& in, Direction& out)
      : info_(std::move(info)), pool_(buffers, info_.mtu), in_(in), out_(out) {}

  const PortInfo& info() const override { return info_; }
  bool link_up() override { return true; }

  size_t rx_burst(Instant /*now*/, std::span<Frame> frames) override {
    const size_t n = std::min(frames.size(), in_.frames.available(frames.size()));
    for (size_t i = 0; i < n; i++) {
      const Slot& s = in_.frames.front(i);
      frames[i] = Frame{.data = s.data, .len = s.len, .cookie = s.cookie};
    }
    if (n != 0) {
      in_.frames.pop(n);
    }
    stats_.rx_frames += n;
    return n;
  }

  size_t alloc(std::span<Frame> frames) override {
    if (pool_.available() < frames.size()) {
      fetch_returned();
    }
    const size_t n = pool_.take(frames);
    stats_.alloc_failed += frames.size() - n;
    return n;
  }

  size_t tx_burst(Instant /*now*/, std::span<Frame> frames) override {
    const size_t n = std::min(frames.size(), out_.frames.free_slots(frames.size()));
    for (size_t i = 0; i < n; i++) {
      Frame& f = frames[i];
      if (f.segment_count != 0) {
        ROCE_DCHECK(f.segment_count <= kLoopbackSegments);
        pool_.linearise(f);
        gathered_++;
      }
      out_.frames.slot(i) = Slot{f.data, f.cookie, f.len};
    }
    if (n != 0) {
      out_.frames.stage(n);
      out_.frames.publish();
    }
    stats_.tx_frames += n;
    stats_.tx_refused += frames.size() - n;
    return n;
  }

  void release(std::span<Frame> frames) override {
    for (const Frame& f : frames) {
      if (pool_.owns(f.cookie)) {
        pool_.give(f.cookie);
      } else {
        ROCE_CHECK(in_.returned.push(f.cookie));
      }
    }
    if (in_.returned.unpublished() != 0) {
      in_.returned.publish();
    }
  }

  uint64_t gather_done() override { return gathered_; }
  PortStats stats() const override { return stats_; }

 private:
  void fetch_returned() {
    const size_t n = out_.returned.available(out_.returned.capacity());
    for (size_t i = 0; i < n; i++) {
      pool_.give(out_.returned.front(i));
    }
    out_.returned.pop(n);
  }

  const PortInfo info_;
  BufferPool pool_;
  Direction& in_;
  Direction& out_;
  PortStats stats_;
  uint64_t gathered_ = 0;
};

}  // namespace

struct ThreadedLoopbackLink::State {
  explicit State(const LoopbackConfig& c)
      : to_a(c),
        to_b(c),
        a(PortInfo{.name = "loopback_a",
                   .mac = c.mac_a,
                   .mtu = c.mtu,
                   .max_segments = kLoopbackSegments},
          c.buffers, to_a, to_b),
        b(PortInfo{.name = "loopback_b",
                   .mac = c.mac_b,
                   .mtu = c.mtu,
                   .max_segments = kLoopbackSegments},
          c.buffers, to_b, to_a) {}

  Direction to_a;
  Direction to_b;
  // Apart, since each is written by its own thread.
  alignas(kSharingUnit) ThreadedLoopbackPort a;
  alignas(kSharingUnit) ThreadedLoopbackPort b;
};

ThreadedLoopbackLink::ThreadedLoopbackLink(const LoopbackConfig& config)
    : state_(std::make_unique<State>(config)) {}

ThreadedLoopbackLink::~ThreadedLoopbackLink() = default;

Port& ThreadedLoopbackLink::a() {
  return state_->a;
}

Port& ThreadedLoopbackLink::b() {
  return state_->b;
}

}  // namespace roce
