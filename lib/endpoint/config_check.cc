// Derived defaults, and the agreement of settings with each other and with this machine.
// SPDX-License-Identifier: BSD-3-Clause
#include "config_check.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dpdk_args.h"
#include "steering/steered_port.h"

namespace roce {
namespace {

// A frame of af_xdp must fit one 4 KiB page together with the heads of DPDK and of the kernel.
constexpr uint32_t kMaxXdpMtu = 3498;
constexpr uint32_t kMinIpv6Mtu = 1280;
// Frames that are neither in a ring nor free: per-thread caches, bursts, what waits to be resent.
constexpr uint32_t kBuffersOutsideRings = 1024;

bool is_default(const Config& config, std::string_view path) {
  return origin_of(config, path) == "default";
}

Status require_text(const Config& config, std::string_view path, const std::string& value) {
  if (!value.empty()) {
    return {};
  }
  return failure(EINVAL,
                 fmt::format("{} = \"{}\" needs {}, which is empty; set it in the file, by "
                             "--set {}=... or in the environment",
                             place_of(config, "port.kind"), name_of(config.port.kind), path, path));
}

Status check_socket(const Config& config) {
  const std::string& path = config.port.socket;
  if (path.empty() || path.size() > kMaxSocketPath) {
    return failure(EINVAL,
                   fmt::format("{} has {} bytes; a UNIX socket's path has 1 to {}; choose a "
                               "shorter folder",
                               place_of(config, "port.socket"), path.size(), kMaxSocketPath));
  }
  // A comma would end the argument in DPDK's device string.
  if (path.find_first_of(",[]\"") != std::string::npos) {
    return failure(EINVAL, fmt::format("{} = \"{}\": DPDK cannot take a path with , [ ] or \"; "
                                       "choose another folder",
                                       place_of(config, "port.socket"), path));
  }
  return {};
}

Status check_kind(const Config& config) {
  switch (config.port.kind) {
    case PortKind::virtio_user:
    case PortKind::memif:
      return check_socket(config);
    case PortKind::af_packet:
    case PortKind::af_xdp:
    case PortKind::tap:
      return require_text(config, "port.interface", config.port.interface);
    case PortKind::pci:
      return require_text(config, "port.pci", config.port.pci);
    case PortKind::vdev:
      return require_text(config, "port.vdev", config.port.vdev);
    case PortKind::ring:
      return {};
  }
  return {};
}

Status check_mtu(const Config& config) {
  const PortSettings& port = config.port;
  if (port.kind == PortKind::af_xdp && port.mtu > kMaxXdpMtu) {
    return failure(EINVAL, fmt::format("{} = {}: port.kind \"af_xdp\" carries at most {}; lower it "
                                       "(3000 is enough for a path MTU of 2048)",
                                       place_of(config, "port.mtu"), port.mtu, kMaxXdpMtu));
  }
  if (!config.address.ipv6.empty() && port.mtu < kMinIpv6Mtu) {
    return failure(EINVAL, fmt::format("{} = {}: IPv6 needs at least {}; raise it or empty "
                                       "address.ipv6",
                                       place_of(config, "port.mtu"), port.mtu, kMinIpv6Mtu));
  }
  return {};
}

Status check_buffers(const Config& config) {
  const PortSettings& port = config.port;
  // Packets that wait for an earlier one keep their buffers.
  const uint32_t held = config.engine.held_packets;
  // What one engine has handed to all others lies in (lcores - 1) lanes of a pool for `lcores`.
  const auto handed = static_cast<uint32_t>(config.engine.lcores > 1 ? Steering::kLaneFrames : 0);
  const uint32_t least =
      std::max(port.rx_descriptors + held + handed, port.tx_descriptors) + kBuffersOutsideRings;
  if (port.buffers < least) {
    return failure(EINVAL,
                   fmt::format("{} = {}: with {} receive and {} transmit descriptors and {} held "
                               "packets at least {} are needed, or the port stalls; raise it or "
                               "lower the descriptors or engine.held_packets",
                               place_of(config, "port.buffers"), port.buffers, port.rx_descriptors,
                               port.tx_descriptors, held, least));
  }
  const uint64_t bytes = uint64_t{port.buffers} * 2 * buffer_bytes(config) * config.engine.lcores;
  const uint64_t memory = uint64_t{config.eal.memory_mb} << 20U;
  if (bytes > memory / 10 * 9) {
    return failure(
        EINVAL,
        fmt::format("{} = {}: twice {} buffers of {} bytes, times engine.lcores = {}, take {} MiB; "
                    "raise it to {} or lower port.buffers, port.mtu or engine.lcores",
                    place_of(config, "eal.memory_mb"), config.eal.memory_mb, port.buffers,
                    buffer_bytes(config), config.engine.lcores, bytes >> 20U,
                    (bytes / 9 * 10 >> 20U) + 1));
  }
  return {};
}

Status check_addresses(const Config& config) {
  const AddressSettings& address = config.address;
  if (!address.ipv4 && address.ipv6.empty()) {
    return failure(EINVAL, fmt::format("{} is empty and so is address.ipv6; an endpoint needs an "
                                       "address",
                                       place_of(config, "address.ipv4")));
  }
  return {};
}

Status check_cpu(const Config& config, std::span<const uint32_t> cpus) {
  if (std::find(cpus.begin(), cpus.end(), config.eal.cpu) == cpus.end()) {
    return failure(EINVAL,
                   fmt::format("{} = {}: this process may use the CPUs {}; choose one of "
                               "them",
                               place_of(config, "eal.cpu"), config.eal.cpu, fmt::join(cpus, ", ")));
  }
  if (config.engine.drive == Drive::lcore && config.engine.lcores > cpus.size()) {
    return failure(
        EINVAL, fmt::format("{} = {}: drive \"lcore\" polls on a CPU for each, and this "
                            "process may use {}; lower it or allow more CPUs",
                            place_of(config, "engine.lcores"), config.engine.lcores, cpus.size()));
  }
  return {};
}

}  // namespace

std::vector<uint32_t> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<uint32_t> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) {
        cpus.push_back(cpu);
      }
    }
  }
  if (cpus.empty()) {
    cpus.push_back(0);
  }
  return cpus;
}

std::vector<uint32_t> lcore_cpus(const Config& config, std::span<const uint32_t> cpus) {
  const auto at = std::find(cpus.begin(), cpus.end(), config.eal.cpu);
  const auto first = static_cast<size_t>(at - cpus.begin());
  std::vector<uint32_t> chosen;
  for (size_t i = 0; i < config.engine.lcores; ++i) {
    chosen.push_back(cpus[(first + i) % cpus.size()]);
  }
  return chosen;
}

std::string default_socket_path() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/') {
    return fmt::format("{}/uroce/wire.sock", runtime);
  }
  return fmt::format("/tmp/uroce-{}/wire.sock", geteuid());
}

void derive_defaults(Config& config, std::span<const uint32_t> cpus) {
  const bool listens = config.port.side == Side::a;
  if (is_default(config, "port.socket")) {
    config.port.socket = default_socket_path();
  }
  if (is_default(config, "port.mtu")) {
    config.port.mtu = config.port.kind == PortKind::af_xdp ? 3000 : 9000;
  }
  if (is_default(config, "eal.cpu")) {
    config.eal.cpu = listens ? cpus.back() : cpus.front();
  }
  if (is_default(config, "address.ipv4")) {
    config.address.ipv4 = parse_ipv4_prefix(listens ? "192.0.2.1/24" : "192.0.2.2/24");
  }
}

Status check_config(const Config& config, std::span<const uint32_t> cpus) {
  for (const auto check : {check_kind, check_mtu, check_buffers, check_addresses}) {
    if (auto done = check(config); !done) {
      return done;
    }
  }
  return check_cpu(config, cpus);
}

std::string place_of_origin(std::string_view origin) {
  constexpr std::string_view kFile = "file ";
  return std::string(origin.starts_with(kFile) ? origin.substr(kFile.size()) : origin);
}

std::string place_of(const Config& config, std::string_view path) {
  if (is_default(config, path)) {
    return fmt::format("{} (default)", path);
  }
  return fmt::format("{}: {}", place_of_origin(origin_of(config, path)), path);
}

}  // namespace roce
