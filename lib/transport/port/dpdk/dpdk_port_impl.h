// DpdkPort: Port over one queue pair of an ethdev. Inside this folder only; others see Port.
// Received frames and blank ones are mbufs: Frame::cookie is the mbuf, its data the frame's bytes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <rte_mbuf.h>

#include "port/dpdk/device.h"
#include "port/dpdk/gather_slots.h"
#include "port/port.h"

namespace roce::dpdk {

class DpdkPort final : public Port {
 public:
  DpdkPort(std::shared_ptr<Device> device, uint16_t queue)
      : device_(std::move(device)), queue_(queue) {}
  ~DpdkPort() override;
  DpdkPort(const DpdkPort&) = delete;
  DpdkPort& operator=(const DpdkPort&) = delete;

  /// Requires an open device. Call once, before anything else; after an error destroy.
  Status open(const DpdkPortConfig& config);

  const PortInfo& info() const override { return info_; }
  bool link_up() override;
  size_t rx_burst(Instant now, std::span<Frame> frames) override;
  size_t alloc(std::span<Frame> frames) override;
  size_t tx_burst(Instant now, std::span<Frame> frames) override;
  void release(std::span<Frame> frames) override;
  uint64_t gather_done() override;
  PortStats stats() const override;

  const Device& device() const { return *device_; }

 private:
  static constexpr size_t kChunk = 64;    // frames a driver call takes at most
  static constexpr size_t kRxAskMin = 4;  // what drivers handle in one go

  size_t receive_chunk(std::span<Frame> frames);
  rte_mbuf* linearise(rte_mbuf* chain);
  size_t send_chunk(std::span<Frame> frames);
  bool attach_segments(rte_mbuf* head, const Frame& frame);
  size_t alloc_singly(size_t count);
  void reclaim();

  const std::shared_ptr<Device> device_;
  const uint16_t queue_;
  GatherSlots slots_;
  PortInfo info_;
  bool can_clean_up_ = false;  // the driver reclaims on request
  // Frames to ask the driver for. It grows while they come and shrinks when they do not: vhost
  // allocates a buffer for each frame it is asked for and frees those that none came for, which
  // makes an empty poll for 32 frames cost as much as receiving one.
  size_t rx_ask_ = kRxAskMin;
  uint64_t rx_frames_ = 0;
  uint64_t tx_frames_ = 0;
  uint64_t tx_refused_ = 0;
  uint64_t alloc_failed_ = 0;
  uint64_t not_linearised_ = 0;

  // Room for one driver call. Members, since locals would be cleared at every poll.
  std::array<rte_mbuf*, kChunk> mbufs_{};
  std::array<bool, kChunk> gathered_{};  // an accepted mbuf must not be looked at again
  std::array<rte_mbuf*, kMaxSegments> links_{};
};

}  // namespace roce::dpdk
