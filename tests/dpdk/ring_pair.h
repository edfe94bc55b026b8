// RingPair: two ports in this process, connected by two rte_rings. Nothing is copied between them,
// so a test can see and make what other devices would hide.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rte_mempool.h>
#include <rte_ring.h>

#include "port/dpdk/device.h"
#include "port/dpdk/dpdk_port.h"

namespace roce::test {

/// Polls that a test makes in vain before it gives up.
inline constexpr int kPatience = 100000;

class RingPair {
 public:
  explicit RingPair(uint32_t mtu = 1500, unsigned ring_size = 128);
  ~RingPair();
  RingPair(const RingPair&) = delete;
  RingPair& operator=(const RingPair&) = delete;

  Port& a() { return *a_; }
  Port& b() { return *b_; }
  Instant now() { return Instant{}; }

  rte_ring* a_to_b() { return a_to_b_; }
  const std::string& name_a() const { return name_a_; }

  /// Ends one port early.
  void close_a() { a_.reset(); }

 private:
  std::string name_a_;
  rte_ring* a_to_b_;
  rte_ring* b_to_a_;
  std::unique_ptr<Port> a_;
  std::unique_ptr<Port> b_;
};

const dpdk::Device& device_of(Port& port);

/// Buffers that nobody holds now.
unsigned free_buffers(rte_mempool* pool);

}  // namespace roce::test
