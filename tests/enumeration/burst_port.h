// BurstPort: the port of a device under test that is fed very many packets.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "port/buffer_pool.h"
#include "port/port.h"

namespace roce::enumeration {

/// Hands up what the test puts in, one packet or a burst, and keeps what the device sends.
class BurstPort final : public Port {
 public:
  static constexpr uint32_t kMtu = 400;  // so that datagrams have a path MTU of 256

  /// The bytes must stay until the next poll.
  void put(std::span<const uint8_t> frame) { in_.push_back(frame); }
  std::vector<std::vector<uint8_t>>& sent() { return sent_; }

  const PortInfo& info() const override { return info_; }
  bool link_up() override { return true; }
  size_t rx_burst(Instant now, std::span<Frame> frames) override;
  size_t alloc(std::span<Frame> frames) override { return pool_.take(frames); }
  size_t tx_burst(Instant now, std::span<Frame> frames) override;
  void release(std::span<Frame> frames) override;
  uint64_t gather_done() override { return 0; }
  PortStats stats() const override { return {}; }

 private:
  const PortInfo info_{.name = "burst", .mac = {{0x02, 0, 0, 0, 0, 1}}, .mtu = kMtu};
  BufferPool pool_{256, kMtu};
  std::vector<std::span<const uint8_t>> in_;
  std::vector<std::vector<uint8_t>> sent_;
};

}  // namespace roce::enumeration
