// The table of all settings. A new setting is one member in config.h and one row here.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cctype>

#include "config_value.h"
#include "roce/config.h"

namespace roce {
namespace {

// A slot's function; the member is named once.
#define SLOT(member) [](Config& c) -> ConfigSlot { return &c.member; }

constexpr auto kKeys = std::to_array<ConfigKey>({
    {.path = "port.kind",
     .slot = SLOT(port.kind),
     .fallback = "virtio-user",
     .help = "what carries the frames"},
    {.path = "port.side",
     .slot = SLOT(port.side),
     .fallback = "",
     .help = "which end of a two-process wire: a listens, b connects",
     .flag = "--side",
     .derived = "a without a host argument, b with one"},
    {.path = "port.socket",
     .slot = SLOT(port.socket),
     .fallback = "",
     .help = "UNIX socket of virtio-user and memif",
     .derived = "$XDG_RUNTIME_DIR/uroce/wire.sock, else /tmp/uroce-UID/wire.sock"},
    {.path = "port.packed",
     .slot = SLOT(port.packed),
     .fallback = "true",
     .help = "virtio-user: the packed ring, the fastest"},
    {.path = "port.interface",
     .slot = SLOT(port.interface),
     .fallback = "",
     .help = "kernel interface of af_packet, af_xdp and tap"},
    {.path = "port.pci",
     .slot = SLOT(port.pci),
     .fallback = "",
     .help = "PCI address of a NIC bound to vfio-pci, like 0000:01:00.0"},
    {.path = "port.vdev",
     .slot = SLOT(port.vdev),
     .fallback = "",
     .help = "kind vdev: DPDK's device string, like net_ring0"},
    {.path = "port.mtu",
     .slot = SLOT(port.mtu),
     .fallback = "",
     .help = "largest IP packet in bytes; a path MTU of 4096 needs 4176",
     .low = 576,
     .high = 9600,
     .derived = "9000; 3000 with af_xdp"},
    {.path = "port.rx_descriptors",
     .slot = SLOT(port.rx_descriptors),
     .fallback = "1024",
     .help = "receive ring entries",
     .low = 64,
     .high = 32768},
    {.path = "port.tx_descriptors",
     .slot = SLOT(port.tx_descriptors),
     .fallback = "1024",
     .help = "transmit ring entries",
     .low = 64,
     .high = 32768},
    {.path = "port.buffers",
     .slot = SLOT(port.buffers),
     .fallback = "4095",
     .help = "frame buffers for each direction; more than its ring and what is in flight",
     .low = 1023,
     .high = 1048575},
    {.path = "port.mac",
     .slot = SLOT(port.mac),
     .fallback = "",
     .help = "own MAC address; empty: the device's own"},
    {.path = "eal.hugepages",
     .slot = SLOT(eal.hugepages),
     .fallback = "false",
     .help = "take memory from hugepages"},
    {.path = "eal.memory_mb",
     .slot = SLOT(eal.memory_mb),
     .fallback = "512",
     .help = "DPDK's memory in MiB",
     .low = 64,
     .high = 1048576},
    {.path = "eal.cpu",
     .slot = SLOT(eal.cpu),
     .fallback = "",
     .help = "the CPU that polls; give each process its own",
     .low = 0,
     .high = 1023,
     .derived = "side a: the last allowed CPU, side b: the first"},
    {.path = "eal.wide_simd",
     .slot = SLOT(eal.wide_simd),
     .fallback = "true",
     .help = "let DPDK use 512-bit vectors where the CPU has them"},
    {.path = "eal.extra",
     .slot = SLOT(eal.extra),
     .fallback = "",
     .help = "further EAL arguments, as they are"},
    {.path = "address.ipv4",
     .slot = SLOT(address.ipv4),
     .fallback = "",
     .help = "own IPv4 address and prefix length",
     .derived = "side a: 192.0.2.1/24, side b: 192.0.2.2/24"},
    {.path = "address.ipv6",
     .slot = SLOT(address.ipv6),
     .fallback = "",
     .help = "own IPv6 addresses and prefix lengths, besides the link-local one"},
    {.path = "address.vlan",
     .slot = SLOT(address.vlan),
     .fallback = "0",
     .help = "VLAN identifier; 0: untagged",
     .flag = "--vlan",
     .low = 0,
     .high = 4094},
    {.path = "address.gateway",
     .slot = SLOT(address.gateway),
     .fallback = "",
     .help = "IPv4 router for peers outside the own network"},
    {.path = "address.gateway6",
     .slot = SLOT(address.gateway6),
     .fallback = "",
     .help = "IPv6 router for peers outside the own networks"},
    {.path = "address.neighbours",
     .slot = SLOT(address.neighbours),
     .fallback = "",
     .help = "peers whose MAC address is known beforehand"},
    {.path = "engine.drive",
     .slot = SLOT(engine.drive),
     .fallback = "rtc",
     .help = "who polls: the application (rtc), an lcore of the engine's own, or both (assisted)",
     .flag = "--drive"},
    {.path = "engine.window_packets",
     .slot = SLOT(engine.window_packets),
     .fallback = "256",
     .help = "unacknowledged packets a QP may have under way",
     .low = 1,
     .high = 65536},
    {.path = "engine.held_packets",
     .slot = SLOT(engine.held_packets),
     .fallback = "512",
     .help = "packets kept that came before an earlier one, over all QPs; 0: plain go-back-N",
     .high = 65536},
    {.path = "engine.resolve_timeout_ms",
     .slot = SLOT(engine.resolve_timeout_ms),
     .fallback = "3000",
     .help = "wait for a peer's MAC address, in milliseconds",
     .low = 10,
     .high = 600000},
    {.path = "engine.dcqcn_mbps",
     .slot = SLOT(engine.dcqcn_mbps),
     .fallback = "0",
     .help = "react to congestion (DCQCN) from this rate of a QP down, in Mbit/s; 0: do not",
     .high = 800000},
    {.path = "wrap.fault",
     .slot = SLOT(wrap.fault),
     .fallback = "",
     .help = "faults put into the wire, like loss=1%,dup=0.5%,reorder=1%,corrupt=0.5%,seed=7",
     .flag = "--fault"},
    {.path = "wrap.capture",
     .slot = SLOT(wrap.capture),
     .fallback = "",
     .help = "write what passes to this pcap file",
     .flag = "--capture"},
});

#undef SLOT

}  // namespace

std::span<const ConfigKey> config_keys() {
  return kKeys;
}

std::string environment_name(const ConfigKey& key) {
  std::string name = "UROCE_";
  for (const char c : key.path) {
    name += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string allowed_values(const ConfigKey& key) {
  Config blank;
  return allowed_for(key.slot(blank), key.low, key.high);
}

}  // namespace roce
