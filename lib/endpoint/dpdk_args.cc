// Device strings of DPDK, one kind of port after the other.
// SPDX-License-Identifier: BSD-3-Clause
#include "dpdk_args.h"

#include <fmt/format.h>

namespace roce {
namespace {

// memif hands frames longer than its buffer on with a wrong length, and af_packet's frame must hold
// the packet behind the kernel's head; both are set to what takes the largest MTU.
constexpr uint32_t kFrameBytes = 16384;
constexpr uint32_t kPacketFrames = 2048;
// struct rte_mbuf, the pool's own head, headroom, Ethernet with VLAN tags.
constexpr uint32_t kBufferOverhead = 128 + 64 + 128 + 32;

DpdkArgs one_vdev(std::string device, const std::string& arguments) {
  DpdkArgs args;
  args.vdevs.push_back(device + arguments);
  args.device = std::move(device);
  return args;
}

// virtio's rings hold a power of two; the device takes at most 1024 on both paths.
uint32_t virtio_ring(const PortSettings& port) {
  constexpr uint32_t kMost = 1024;
  uint32_t size = 64;
  while (size < kMost && size < port.rx_descriptors) {
    size *= 2;
  }
  return size;
}

DpdkArgs virtio_args(const PortSettings& port, uint32_t queues) {
  if (port.side == Side::a) {
    return one_vdev("net_vhost0", fmt::format(",iface={},queues={}", port.socket, queues));
  }
  // In-order and not mergeable are what DPDK's vector path asks for; a frame of the largest MTU
  // fits one buffer.
  return one_vdev("net_virtio_user0",
                  fmt::format(",path={},queue_size={}{}{},mrg_rxbuf=0,in_order=1,vectorized=1",
                              port.socket, virtio_ring(port), port.packed ? ",packed_vq=1" : "",
                              queues > 1 ? fmt::format(",queues={},cq=1", queues) : ""));
}

// memif names its ring size by its logarithm, 14 at most.
uint32_t memif_ring_log2(const PortSettings& port) {
  uint32_t log2 = 6;
  while (log2 < 14 && (1U << log2) < port.rx_descriptors) {
    ++log2;
  }
  return log2;
}

DpdkArgs memif_args(const PortSettings& port) {
  return one_vdev("net_memif0",
                  fmt::format(",role={},id=0,socket={},socket-abstract=no,bsize={},rsize={}",
                              port.side == Side::a ? "server" : "client", port.socket, kFrameBytes,
                              memif_ring_log2(port)));
}

DpdkArgs packet_args(const PortSettings& port, uint32_t queues) {
  return one_vdev("net_af_packet0",
                  fmt::format(",iface={},blocksz={},framesz={},framecnt={},qdisc_bypass=1{}",
                              port.interface, kFrameBytes, kFrameBytes, kPacketFrames,
                              queues > 1 ? fmt::format(",qpairs={}", queues) : ""));
}

}  // namespace

DpdkArgs dpdk_args(const Config& config) {
  const PortSettings& port = config.port;
  switch (port.kind) {
    case PortKind::virtio_user:
      return virtio_args(port, config.engine.lcores);
    case PortKind::memif:
      return memif_args(port);
    case PortKind::af_packet:
      return packet_args(port, config.engine.lcores);
    case PortKind::af_xdp:
      return one_vdev("net_af_xdp0",
                      fmt::format(",iface={}{}", port.interface,
                                  config.engine.lcores > 1
                                      ? fmt::format(",queue_count={}", config.engine.lcores)
                                      : ""));
    case PortKind::tap:
      return one_vdev("net_tap0", fmt::format(",iface={}", port.interface));
    case PortKind::ring:
      return one_vdev("net_ring0", "");
    case PortKind::pci: {
      DpdkArgs args;
      args.device = port.pci;
      args.pci_allow.push_back(port.pci);
      return args;
    }
    case PortKind::vdev: {
      DpdkArgs args;
      args.device = port.vdev.substr(0, port.vdev.find(','));
      args.vdevs.push_back(port.vdev);
      return args;
    }
  }
  return {};
}

uint32_t buffer_bytes(const Config& config) {
  const bool whole_kernel_frame = config.port.kind == PortKind::af_packet;
  return (whole_kernel_frame ? kFrameBytes : config.port.mtu) + kBufferOverhead;
}

bool uses_socket(const Config& config) {
  return config.port.kind == PortKind::virtio_user || config.port.kind == PortKind::memif;
}

}  // namespace roce
