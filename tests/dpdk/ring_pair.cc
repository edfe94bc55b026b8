// See ring_pair.h.
// SPDX-License-Identifier: BSD-3-Clause
#include "dpdk/ring_pair.h"

#include <stdexcept>

#include <rte_eth_ring.h>
#include <rte_mbuf.h>

#include "port/dpdk/dpdk_port_impl.h"

namespace roce::test {
namespace {

std::unique_ptr<Port> open_ring_port(const std::string& name, rte_ring* in, rte_ring* out,
                                     uint32_t mtu) {
  if (rte_eth_from_rings(name.c_str(), &in, 1, &out, 1, 0) < 0) {
    throw std::runtime_error("no ring device " + name);
  }
  DpdkPortConfig config;
  config.device = "net_ring_" + name;
  config.mtu = mtu;
  config.rx_descriptors = 64;
  config.tx_descriptors = 64;
  config.rx_buffers = 64;  // raised to what rings and caches need
  config.tx_buffers = 64;
  auto port = open_dpdk_port(config);
  if (!port) {
    throw std::runtime_error(port.error().reason);
  }
  return std::move(*port);
}

rte_ring* make_ring(const std::string& name, unsigned size) {
  return rte_ring_create(name.c_str(), size, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

}  // namespace

RingPair::RingPair(uint32_t mtu, unsigned ring_size) {
  static unsigned count = 0;
  const std::string tag = std::to_string(count++);
  a_to_b_ = make_ring("ab" + tag, ring_size);
  b_to_a_ = make_ring("ba" + tag, ring_size);
  if (a_to_b_ == nullptr || b_to_a_ == nullptr) {
    throw std::runtime_error("no memory for rings");
  }
  name_a_ = "net_ring_a" + tag;
  a_ = open_ring_port("a" + tag, b_to_a_, a_to_b_, mtu);
  b_ = open_ring_port("b" + tag, a_to_b_, b_to_a_, mtu);
}

RingPair::~RingPair() {
  // A port keeps its buffers for ever when some are still under way as it closes.
  for (rte_ring* ring : {a_to_b_, b_to_a_}) {
    void* m = nullptr;
    while (rte_ring_dequeue(ring, &m) == 0) {
      rte_pktmbuf_free(static_cast<rte_mbuf*>(m));
    }
  }
  a_.reset();
  b_.reset();
  rte_ring_free(a_to_b_);
  rte_ring_free(b_to_a_);
}

const dpdk::Device& device_of(Port& port) {
  return dynamic_cast<dpdk::DpdkPort&>(port).device();
}

unsigned free_buffers(rte_mempool* pool) {
  return rte_mempool_avail_count(pool);
}

}  // namespace roce::test
