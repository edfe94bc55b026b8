// What happens to a frame on its way.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/swarm/network.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "wire/icrc.h"

namespace roce::swarm {
namespace {

constexpr size_t kEthernet = 14;
constexpr uint16_t kIpv4 = 0x0800;
constexpr uint16_t kIpv6 = 0x86dd;

/// Buffers outlive the schedules, since touching fresh memory takes longer than most of them.
BufferPool& pool_of(size_t port) {
  static std::vector<std::unique_ptr<BufferPool>> pools;
  while (pools.size() <= port) {
    pools.push_back(std::make_unique<BufferPool>(kBuffersPerPort, kPortMtu));
  }
  return *pools[port];
}

}  // namespace

SimPort::SimPort(Network& network, size_t index)
    : network_(network), index_(index), pool_(pool_of(index)) {
  info_.name = "sim" + std::to_string(index);
  info_.mac = Network::mac_of(index);
  info_.mtu = kPortMtu;
}

/// What arrived and nobody fetched goes back: the buffers are the next schedule's.
SimPort::~SimPort() {
  for (const Frame& f : arrived_) {
    pool_.give(f.cookie);
  }
}

size_t SimPort::rx_burst(Instant /*now*/, std::span<Frame> frames) {
  const size_t n = std::min(frames.size(), arrived_.size());
  for (Frame& f : frames.first(n)) {
    f = arrived_.front();
    arrived_.pop_front();
  }
  stats_.rx_frames += n;
  return n;
}

size_t SimPort::alloc(std::span<Frame> frames) {
  const size_t n = network_.now() < empty_until_ ? 0 : pool_.take(frames);
  stats_.alloc_failed += frames.size() - n;
  return n;
}

size_t SimPort::tx_burst(Instant now, std::span<Frame> frames) {
  if (now < blocked_until_) {
    stats_.tx_refused += frames.size();
    return 0;
  }
  for (Frame& f : frames) {
    if (tap_) {
      tap_({f.data, f.len}, true);
    }
    if (!dead_) {
      network_.carry(index_, {f.data, f.len});
    }
    pool_.give(f.cookie);
  }
  stats_.tx_frames += frames.size();
  return frames.size();
}

void SimPort::release(std::span<Frame> frames) {
  for (const Frame& f : frames) {
    pool_.give(f.cookie);
  }
}

void SimPort::arrive(std::span<const uint8_t> bytes) {
  Frame f;
  if (network_.now() < empty_until_ || pool_.take({&f, 1}) == 0) {
    ++stats_.rx_missed;
    return;
  }
  if (tap_) {
    tap_(bytes, false);
  }
  std::copy(bytes.begin(), bytes.end(), f.data);
  f.len = static_cast<uint32_t>(bytes.size());
  arrived_.push_back(f);
}

size_t SimPort::lent() const {
  return kBuffersPerPort - pool_.available() - arrived_.size();
}

Network::Network(size_t ports, const NetworkOptions& options)
    : options_(options), prng_(options.seed), cut_until_(ports * ports), last_due_(ports * ports) {
  for (size_t i = 0; i < ports; ++i) {
    ports_.push_back(std::make_unique<SimPort>(*this, i));
  }
}

MacAddress Network::mac_of(size_t port) {
  return {{0x02, 0, 0, 0, 0, static_cast<uint8_t>(port + 1)}};
}

void Network::stop_faults() {
  options_.faults = {};
  burst_left_ = 0;
  std::fill(cut_until_.begin(), cut_until_.end(), Instant{});
  for (const auto& port : ports_) {
    port->block_until({});
    port->empty_until({});
  }
}

void Network::cut(size_t from, size_t to, Instant t) {
  cut_until_[from * ports_.size() + to] = t;
}

void Network::advance(Instant now) {
  now_ = now;
  while (!flights_.empty() && flights_.front().due <= now) {
    std::pop_heap(flights_.begin(), flights_.end(), later);
    Flight flight = std::move(flights_.back());
    flights_.pop_back();
    ports_[flight.to]->arrive(flight.bytes);
    spare_.push_back(std::move(flight.bytes));
  }
}

void Network::carry(size_t from, std::span<const uint8_t> bytes) {
  const bool group = (bytes[0] & 1) != 0;
  for (size_t to = 0; to < ports_.size(); ++to) {
    const MacAddress mac = mac_of(to);
    if (to != from && (group || std::memcmp(mac.bytes.data(), bytes.data(), 6) == 0)) {
      send(from, to, bytes);
    }
  }
}

void Network::send(size_t from, size_t to, std::span<const uint8_t> bytes) {
  const Faults& faults = options_.faults;
  ++frames_;
  if (burst_left_ == 0 && prng_.chance(faults.burst)) {
    burst_left_ = 1 + prng_.below(options_.burst_length);
  }
  if (burst_left_ > 0) {
    --burst_left_;
    return;
  }
  if (prng_.chance(faults.loss) || now_ < cut_until_[from * ports_.size() + to]) {
    return;
  }
  launch(to + from * ports_.size(), bytes);
  if (prng_.chance(faults.duplicate)) {
    launch(to + from * ports_.size(), bytes);
  }
}

/// `way` is from * ports + to.
void Network::launch(size_t way, std::span<const uint8_t> bytes) {
  Flight flight;
  if (!spare_.empty()) {
    flight.bytes = std::move(spare_.back());
    spare_.pop_back();
  }
  flight.bytes.assign(bytes.begin(), bytes.end());
  flight.to = way % ports_.size();
  flight.serial = serial_++;
  spoil(flight.bytes);
  const auto some = [this](Duration most) {
    return Duration::from_ns(1 + prng_.below(static_cast<uint32_t>(most.ns)));
  };
  if (prng_.chance(options_.faults.delay)) {
    flight.due = now_ + options_.latency + some(options_.delay_by);
  } else if (prng_.chance(options_.faults.reorder)) {
    flight.due = now_ + options_.latency + some(options_.reorder_by);
  } else {
    flight.due = last_due_[way] = std::max(last_due_[way], now_ + options_.latency);
  }
  flights_.push_back(std::move(flight));
  std::push_heap(flights_.begin(), flights_.end(), later);
}

void Network::spoil(std::vector<uint8_t>& bytes) {
  if (prng_.chance(options_.faults.corrupt)) {
    for (uint32_t n = 1 + prng_.below(3); n > 0; --n) {
      const uint32_t bit = prng_.below(static_cast<uint32_t>(bytes.size()) * 8);
      bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    }
  }
  if (prng_.chance(options_.faults.truncate)) {
    bytes.resize(1 + prng_.below(static_cast<uint32_t>(bytes.size()) - 1));
  }
  if (prng_.chance(options_.faults.forge)) {
    forge(bytes);
  }
}

/// Flips a bit behind the UDP header, and makes the ICRC right: what a bad switch or an attacker on
/// the wire does.
void Network::forge(std::vector<uint8_t>& bytes) {
  constexpr size_t kUdp = 8;
  constexpr size_t kBth = 12;
  if (bytes.size() < kEthernet + 40) {
    return;
  }
  uint8_t* const l3 = bytes.data() + kEthernet;
  const auto type = load_be<uint16_t>(bytes.data() + 12);
  const size_t ip = type == kIpv4 ? 20 : 40;
  const size_t length = type == kIpv4 ? load_be<uint16_t>(l3 + 2) : ip + load_be<uint16_t>(l3 + 4);
  const uint8_t protocol = type == kIpv4 ? l3[9] : l3[6];
  if ((type != kIpv4 && type != kIpv6) || protocol != 17 || kEthernet + length > bytes.size() ||
      length < ip + kUdp + kBth + wire::kIcrcSize) {
    return;
  }
  const size_t begin = ip + kUdp;
  const size_t covered = length - wire::kIcrcSize;
  const uint32_t bit = prng_.below(static_cast<uint32_t>(covered - begin) * 8);
  l3[begin + bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
  wire::store_icrc(l3 + covered, wire::icrc_finish(wire::icrc_of_headers(l3, covered)));
}

}  // namespace roce::swarm
