// VictimPort: the wire of the device that the engine fuzzer attacks. It hands up what the fuzzer
// puts in; what the device sends is looked at and forgotten. Under AddressSanitizer only those
// bytes of its buffers may be touched that the device has been lent: not what lies behind a
// received frame, nor a frame that was given back.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/digest.h"
#include "port/buffer_pool.h"
#include "port/port.h"

namespace roce::fuzz {

class VictimPort final : public Port {
 public:
  static constexpr uint32_t kMtu = 600;  // a path MTU of 512 for datagrams
  static constexpr uint32_t kBuffers = 256;

  VictimPort();

  /// Forgets what it has noted of the last input. `digest` may be nullptr; else what is sent is
  /// added to it.
  void start(Digest* digest);
  void put(std::span<const uint8_t> frame);
  void refuse(bool on) { refusing_ = on; }
  /// PSN of the newest request that was sent to each remote QPN's low bits.
  uint32_t newest_request(size_t peer) const { return newest_[peer]; }

  const PortInfo& info() const override { return info_; }
  bool link_up() override { return true; }
  size_t rx_burst(Instant now, std::span<Frame> frames) override;
  size_t alloc(std::span<Frame> frames) override;
  size_t tx_burst(Instant now, std::span<Frame> frames) override;
  void release(std::span<Frame> frames) override;
  uint64_t gather_done() override { return 0; }
  Instant next_event() const override { return waiting_ == 0 ? kNever : Instant{}; }
  PortStats stats() const override { return {}; }

 private:
  static constexpr size_t kPeers = 4;
  static constexpr size_t kRoom = kMtu + 18;  // of a buffer

  void give(const Frame& frame);
  void look_at(const Frame& frame);

  const PortInfo info_{.name = "victim", .mac = {{0x02, 0, 0, 0, 0, 1}}, .mtu = kMtu};
  BufferPool pool_{kBuffers, kMtu};
  std::array<Frame, 64> in_{};
  size_t waiting_ = 0;
  bool refusing_ = false;
  std::array<uint32_t, kPeers> newest_{};
  Digest* digest_ = nullptr;
};

}  // namespace roce::fuzz
