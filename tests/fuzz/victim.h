// Victim: the device that the engine fuzzer attacks: live queue pairs of each type, one of them on
// a shared receive queue, memory with rights and memory without, windows, small completion queues.
// It is set up once; reset() brings everything that an input may have changed back to the start.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <roce/verbs.h>

#include "port/buffer_pool.h"
#include "port/port.h"

namespace roce::fuzz {

/// Hands up what the fuzzer puts in. What the device sends is looked at and forgotten.
class VictimPort final : public Port {
 public:
  static constexpr uint32_t kMtu = 600;  // a path MTU of 512 for datagrams
  static constexpr uint32_t kBuffers = 256;

  void put(std::span<const uint8_t> frame);
  size_t waiting() const { return waiting_; }
  void refuse(bool on) { refusing_ = on; }
  /// PSN of the newest request that was sent to each remote QPN's low bits.
  uint32_t newest_request(size_t peer) const { return newest_[peer]; }

  const PortInfo& info() const override { return info_; }
  bool link_up() override { return true; }
  size_t rx_burst(Instant now, std::span<Frame> frames) override;
  size_t alloc(std::span<Frame> frames) override { return pool_.take(frames); }
  size_t tx_burst(Instant now, std::span<Frame> frames) override;
  void release(std::span<Frame> frames) override;
  uint64_t gather_done() override { return 0; }
  Instant next_event() const override { return waiting_ == 0 ? kNever : Instant{}; }
  PortStats stats() const override { return {}; }

 private:
  static constexpr size_t kPeers = 4;

  void look_at(const Frame& frame);

  const PortInfo info_{.name = "victim", .mac = {{0x02, 0, 0, 0, 0, 1}}, .mtu = kMtu};
  BufferPool pool_{kBuffers, kMtu};
  std::array<Frame, 64> in_{};
  size_t waiting_ = 0;
  bool refusing_ = false;
  std::array<uint32_t, kPeers> newest_{};
};

class FuzzClock final : public verbs::Clock {
 public:
  Instant now() override { return now_; }
  void move(Duration span) { now_ = now_ + span; }

 private:
  Instant now_{1'000'000'000};
};

class Victim {
 public:
  static constexpr size_t kQps = 4;               ///< RC, UC, UD, RC with a shared receive queue
  static constexpr uint32_t kPeerQpn = 0x00abc0;  ///< of the first; the others follow
  static constexpr uint32_t kQkey = 0x11111111;
  static constexpr uint32_t kPeerPsn = 0xfffff0;
  static constexpr uint32_t kOwnPsn = 0xfffff8;
  static constexpr size_t kOpen = 8192;   ///< bytes that peers may reach
  static constexpr size_t kGuard = 1024;  ///< and bytes that they may not, behind those

  Victim();
  ~Victim();

  void reset();
  /// Lets the device work for a while.
  void run(int turns = 6);
  /// Everything that must hold at any time does (checked).
  void check();

  void modify(size_t index, ibv_qp_state state);
  void post_receive(size_t index, size_t offset, uint32_t length);
  void post_send(size_t index, ibv_send_wr& wr, size_t offset, uint32_t length, bool bad_key);
  void bind_window(size_t index, size_t offset, size_t length, int access);
  void drop_region();

  verbs::Device& device() { return *device_; }
  VictimPort& port() { return port_; }
  FuzzClock& clock() { return clock_; }
  verbs::Qp& qp(size_t index) { return qps_[index]; }
  verbs::Ah& ah() { return *ah_; }
  uint64_t va(size_t offset) const { return reinterpret_cast<uint64_t>(memory_.data()) + offset; }
  uint32_t open_key() const { return open_ ? open_->rkey() : 1; }
  uint32_t guard_key() const { return guard_->rkey(); }
  uint32_t window_key() const { return window_->rkey(); }

 private:
  void register_open();
  void drain();

  VictimPort port_;
  FuzzClock clock_;
  std::unique_ptr<verbs::Device> device_;
  std::vector<uint64_t> memory_;  // open bytes, then guarded ones
  std::optional<verbs::Pd> pd_;
  std::optional<verbs::Cq> send_cq_;
  std::optional<verbs::Cq> recv_cq_;
  std::optional<verbs::Mr> open_;
  std::optional<verbs::Mr> guard_;
  std::optional<verbs::Mw> window_;
  std::optional<verbs::Srq> srq_;
  std::optional<verbs::Ah> ah_;
  std::vector<verbs::Qp> qps_;
};

}  // namespace roce::fuzz
