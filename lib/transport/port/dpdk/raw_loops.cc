// See raw_loops.h. Frames are broadcasts of a local experimental EtherType, which tells them from
// what a kernel says on a veth or tap by itself.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/dpdk/raw_loops.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "port/dpdk/dpdk_port_impl.h"

namespace roce {
namespace {

constexpr uint32_t kMaxBurst = 64;
constexpr uint32_t kLineBytes = RTE_CACHE_LINE_SIZE;
constexpr size_t kAhead = 4;  // frames whose lines are asked for before the work comes to them
constexpr uint32_t kLinesAhead = 3;
constexpr size_t kMaxSamples = 4'000'000;
constexpr uint32_t kEthernetSize = 14;
constexpr std::array<uint8_t, 2> kEtherType{0x88, 0xb5};
constexpr Duration kIdleEnd = Duration::from_s(1);
constexpr Duration kPingTimeout = Duration::from_ms(50);
constexpr Duration kFirstPingTimeout = Duration::from_ms(500);

uint64_t ticks(Duration d) {
  return static_cast<uint64_t>(static_cast<double>(d.ns) * 1e-9 *
                               static_cast<double>(rte_get_tsc_hz()));
}

Duration time_of(uint64_t tick_count) {
  return Duration::from_ns(static_cast<int64_t>(static_cast<double>(tick_count) * 1e9 /
                                                static_cast<double>(rte_get_tsc_hz())));
}

// As the transport does it, which the limit is to be compared with.
void line_to_write(const volatile void* at) {
  asm volatile("prefetchw %0" : : "m"(*static_cast<const volatile uint8_t*>(at)));
}

// Frames in each 2 ms of the measured time, which begins when warm-up is over.
class SliceMeter {
 public:
  explicit SliceMeter(const RawConfig& config)
      : warm_up_(ticks(config.warm_up)),
        measured_(ticks(config.measured)),
        width_(std::max<uint64_t>(1, ticks(kWidth))),
        slices_(static_cast<size_t>(measured_ / width_) + 2) {}

  bool started() const { return begin_ != 0; }
  uint64_t end() const { return begin_ + measured_; }
  bool over(uint64_t now) const { return started() && now >= end(); }

  void start(uint64_t now) {
    begin_ = now + warm_up_;
    slice_end_ = begin_ + width_;
  }

  void count(uint64_t now, uint64_t frames, uint64_t wrong) {
    if (!started() || now < begin_ || now >= end()) {
      return;
    }
    while (now >= slice_end_) {
      slice_end_ += width_;
      ++current_;
    }
    slices_[current_] += frames;
    frames_ += frames;
    wrong_ += wrong;
  }

  RawStream result(uint64_t now) {
    RawStream r;
    const uint64_t until = std::clamp(now, begin_, end());
    r.frames = frames_;
    r.wrong = wrong_;
    r.elapsed = time_of(until - begin_);
    if (r.elapsed.ns > 0) {
      r.mean_rate = static_cast<double>(frames_) * 1e9 / static_cast<double>(r.elapsed.ns);
    }
    slices_.resize(std::max<size_t>(1, static_cast<size_t>((until - begin_) / width_)));
    std::sort(slices_.begin(), slices_.end());
    const auto rate = [&](size_t percent) {
      return static_cast<double>(slices_[slices_.size() * percent / 100]) * 1e9 /
             static_cast<double>(kWidth.ns);
    };
    r.slice_p10 = rate(10);
    r.slice_p50 = rate(50);
    r.slice_p90 = rate(90);
    return r;
  }

 private:
  static constexpr Duration kWidth = Duration::from_ms(2);

  uint64_t warm_up_;
  uint64_t measured_;
  uint64_t width_;
  std::vector<uint64_t> slices_;
  size_t current_ = 0;
  uint64_t begin_ = 0;
  uint64_t slice_end_ = 0;
  uint64_t frames_ = 0;
  uint64_t wrong_ = 0;
};

// One device and one configuration; the steps that the loops share.
class RawDevice {
 public:
  RawDevice(const dpdk::Device& device, const RawConfig& config)
      : device_(device), config_(config) {}

  bool stopped() const {
    return config_.stop != nullptr && config_.stop->load(std::memory_order_relaxed);
  }

  /// Frames ready to send, or none while there are no buffers.
  bool make(std::span<rte_mbuf*> mbufs) {
    if (rte_pktmbuf_alloc_bulk(device_.tx_pool(), mbufs.data(),
                               static_cast<unsigned>(mbufs.size())) != 0) {
      rte_eth_tx_done_cleanup(device_.id(), 0, 0);
      return false;
    }
    for (size_t i = 0; i < mbufs.size(); ++i) {
      rte_mbuf* m = mbufs[i];
      ask_for(mbufs, i + kAhead, line_to_write);
      m->data_len = static_cast<uint16_t>(config_.frame_len);
      m->pkt_len = config_.frame_len;
      auto* bytes = rte_pktmbuf_mtod(m, uint8_t*);
      std::fill_n(bytes, 6, uint8_t{0xff});
      std::copy(device_.mac().bytes.begin(), device_.mac().bytes.end(), bytes + 6);
      std::copy(kEtherType.begin(), kEtherType.end(), bytes + 12);
      if (config_.work != nullptr) {
        config_.work->write({bytes + kEthernetSize, config_.frame_len - kEthernetSize});
        continue;
      }
      for (uint32_t at = kLineBytes; config_.touch && at + 8 <= config_.frame_len;
           at += kLineBytes) {
        std::memcpy(bytes + at, &at, sizeof at);
      }
    }
    return true;
  }

  size_t send(std::span<rte_mbuf*> mbufs) {
    return rte_eth_tx_burst(device_.id(), 0, mbufs.data(), static_cast<uint16_t>(mbufs.size()));
  }

  /// Receives up to mbufs.size() frames of this test; others are dropped.
  size_t receive(std::span<rte_mbuf*> mbufs) {
    const size_t polled =
        rte_eth_rx_burst(device_.id(), 0, mbufs.data(), static_cast<uint16_t>(mbufs.size()));
    size_t kept = 0;
    for (size_t i = 0; i < polled; ++i) {
      const auto* bytes = rte_pktmbuf_mtod(mbufs[i], const uint8_t*);
      if (std::equal(kEtherType.begin(), kEtherType.end(), bytes + 12)) {
        mbufs[kept++] = mbufs[i];
      } else {
        rte_pktmbuf_free(mbufs[i]);
      }
    }
    return kept;
  }

  /// Reads what a transport would; returns how many frames are wrong.
  uint64_t inspect(std::span<rte_mbuf*> mbufs) const {
    uint64_t wrong = 0;
    for (size_t i = 0; i < mbufs.size(); ++i) {
      const rte_mbuf* m = mbufs[i];
      ask_for(mbufs, i + kAhead, rte_prefetch0);
      if (m->pkt_len != config_.frame_len || m->data_len != config_.frame_len) {
        ++wrong;
        continue;
      }
      if (config_.work != nullptr) {
        const auto* packet = rte_pktmbuf_mtod(m, const uint8_t*) + kEthernetSize;
        wrong += config_.work->read({packet, config_.frame_len - kEthernetSize}) ? 0 : 1;
        continue;
      }
      const auto* bytes = rte_pktmbuf_mtod(m, const volatile uint8_t*);
      for (uint32_t at = 0; config_.touch && at < m->data_len; at += kLineBytes) {
        static_cast<void>(bytes[at]);
      }
    }
    return wrong;
  }

  /// Makes answers of received frames: with work, of what it has taken in.
  void answer(std::span<rte_mbuf*> mbufs) {
    if (config_.work == nullptr) {
      return;
    }
    inspect(mbufs);
    for (rte_mbuf* m : mbufs) {
      auto* packet = rte_pktmbuf_mtod(m, uint8_t*) + kEthernetSize;
      config_.work->write({packet, m->data_len - size_t{kEthernetSize}});
    }
  }

  static void free(std::span<rte_mbuf*> mbufs) {
    rte_pktmbuf_free_bulk(mbufs.data(), static_cast<unsigned>(mbufs.size()));
  }

  const RawConfig& config() const { return config_; }

 private:
  /// Has the first lines of a frame brought here, as a transport would.
  template <class Prefetch>
  void ask_for(std::span<rte_mbuf*> mbufs, size_t i, Prefetch prefetch) const {
    if (config_.work == nullptr || i >= mbufs.size()) {
      return;
    }
    const auto* bytes = rte_pktmbuf_mtod(mbufs[i], const uint8_t*);
    for (uint32_t line = 0; line < kLinesAhead; ++line) {
      prefetch(bytes + size_t{line} * kLineBytes);
    }
  }

  const dpdk::Device& device_;
  RawConfig config_;
};

Result<RawDevice> raw_device(Port& port, const RawConfig& config) {
  const auto* dpdk_port = dynamic_cast<dpdk::DpdkPort*>(&port);
  if (dpdk_port == nullptr) {
    return failure(EINVAL, "port '" + port.info().name +
                               "' is not a DPDK device's; open it with open_dpdk_port()");
  }
  const uint32_t longest = kEthernetSize + port.info().mtu;
  if (config.frame_len < 64 || config.frame_len > longest) {
    return failure(EINVAL, "a frame of " + std::to_string(config.frame_len) +
                               " bytes is outside 64.." + std::to_string(longest));
  }
  if (config.burst < 1 || config.burst > kMaxBurst) {
    return failure(EINVAL,
                   "a burst of " + std::to_string(config.burst) + " frames is outside 1..64");
  }
  if (config.measured.ns <= 0 || config.measured > Duration::from_s(3600)) {
    return failure(EINVAL, "the measured time must be above 0 and at most an hour");
  }
  return RawDevice(dpdk_port->device(), config);
}

// One round trip: the ticks it took, or 0 when nothing came back in time.
uint64_t round_trip(RawDevice& raw, uint64_t timeout, std::span<rte_mbuf*> mbufs) {
  const std::span<rte_mbuf*> one = mbufs.first(1);
  if (!raw.make(one)) {
    return 0;
  }
  const uint64_t start = rte_rdtsc();
  while (raw.send(one) == 0) {
    if (rte_rdtsc() - start > timeout) {
      RawDevice::free(one);
      return 0;
    }
  }
  for (uint64_t now = start; now - start < timeout; now = rte_rdtsc()) {
    const size_t got = raw.receive(mbufs);
    const std::span<rte_mbuf*> frames(mbufs.data(), got);
    const bool back = got > raw.inspect(frames);
    RawDevice::free(frames);
    if (back) {
      return rte_rdtsc() - start;
    }
  }
  return 0;
}

}  // namespace

Result<RawStream> raw_stream_tx(Port& port, const RawConfig& config) {
  auto raw = raw_device(port, config);
  if (!raw) {
    return tl::make_unexpected(raw.error());
  }
  SliceMeter meter(config);
  std::array<rte_mbuf*, kMaxBurst> mbufs{};
  uint64_t now = rte_rdtsc();
  meter.start(now);
  while (!meter.over(now) && !raw->stopped()) {
    std::span<rte_mbuf*> left(mbufs.data(), config.burst);
    if (!raw->make(left)) {
      now = rte_rdtsc();
      continue;
    }
    while (!left.empty() && !meter.over(now) && !raw->stopped()) {
      const size_t sent = raw->send(left);
      left = left.subspan(sent);
      now = rte_rdtsc();
      meter.count(now, sent, 0);
    }
    RawDevice::free(left);
  }
  return meter.result(now);
}

Result<RawStream> raw_stream_rx(Port& port, const RawConfig& config) {
  auto raw = raw_device(port, config);
  if (!raw) {
    return tl::make_unexpected(raw.error());
  }
  SliceMeter meter(config);
  std::array<rte_mbuf*, kMaxBurst> mbufs{};
  const uint64_t give_up = rte_rdtsc() + ticks(config.patience);
  uint64_t now = rte_rdtsc();
  while (!meter.over(now) && !raw->stopped()) {
    const std::span<rte_mbuf*> frames(mbufs.data(),
                                      raw->receive({mbufs.data(), size_t{config.burst}}));
    now = rte_rdtsc();
    if (frames.empty()) {
      if (!meter.started() && now > give_up) {
        break;
      }
      continue;
    }
    if (!meter.started()) {
      meter.start(now);
    }
    meter.count(now, frames.size(), raw->inspect(frames));
    RawDevice::free(frames);
  }
  if (!meter.started()) {
    return failure(ETIMEDOUT, "no frame came within " +
                                  std::to_string(config.patience.ns / 1'000'000) +
                                  " ms; is the sender running?");
  }
  return meter.result(now);
}

Result<RawRoundTrips> raw_ping(Port& port, const RawConfig& config) {
  auto raw = raw_device(port, config);
  if (!raw) {
    return tl::make_unexpected(raw.error());
  }
  RawRoundTrips result;
  std::array<rte_mbuf*, kMaxBurst> mbufs{};
  std::vector<uint64_t> samples;
  samples.reserve(kMaxSamples);
  uint64_t measure_from = 0;  // 0 until the first frame has come back
  uint64_t end = rte_rdtsc() + ticks(config.patience);
  for (uint64_t now = 0; now < end && samples.size() < kMaxSamples && !raw->stopped();) {
    const bool first = measure_from == 0;
    const uint64_t took = round_trip(*raw, ticks(first ? kFirstPingTimeout : kPingTimeout), mbufs);
    now = rte_rdtsc();
    if (took == 0) {
      result.lost += first ? 0 : 1;
    } else if (first) {
      measure_from = now + ticks(config.warm_up);
      end = measure_from + ticks(config.measured);
    } else if (now >= measure_from) {
      samples.push_back(took);
    }
  }
  if (samples.empty()) {
    return failure(ETIMEDOUT, "no frame came back; is the other side answering?");
  }
  std::sort(samples.begin(), samples.end());
  const auto at = [&](size_t per_mille) {
    return time_of(samples[std::min(samples.size() - 1, samples.size() * per_mille / 1000)]);
  };
  result.count = samples.size();
  result.min = at(0);
  result.p50 = at(500);
  result.p99 = at(990);
  result.p999 = at(999);
  return result;
}

Status raw_pong(Port& port, const RawConfig& config) {
  auto raw = raw_device(port, config);
  if (!raw) {
    return tl::make_unexpected(raw.error());
  }
  std::array<rte_mbuf*, kMaxBurst> mbufs{};
  uint64_t last = rte_rdtsc();
  uint64_t idle_end = ticks(config.patience);
  while (rte_rdtsc() - last < idle_end && !raw->stopped()) {
    std::span<rte_mbuf*> left(mbufs.data(), raw->receive({mbufs.data(), size_t{config.burst}}));
    if (left.empty()) {
      continue;
    }
    last = rte_rdtsc();
    idle_end = ticks(kIdleEnd);
    raw->answer(left);
    while (!left.empty() && rte_rdtsc() - last < idle_end && !raw->stopped()) {
      left = left.subspan(raw->send(left));
    }
    RawDevice::free(left);
  }
  return {};
}

}  // namespace roce
