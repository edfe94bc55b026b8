// What an endpoint is set up from: one plain value a setting, read from defaults, a TOML file, the
// environment and flags, each value knowing where it came from. One table (config_keys) drives all
// of them, so a setting cannot exist in one place and be missing in another.
//
// Thread: set-up only; a Config is a value and belongs to whoever holds it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "roce/address_text.h"

namespace roce {

/// What carries the frames. `vdev` hands a raw device string to DPDK.
enum class PortKind : uint8_t { virtio_user, memif, af_packet, af_xdp, tap, ring, pci, vdev };

/// Which end of a two-process wire this is: `a` listens (vhost, memif server), `b` connects.
enum class Side : uint8_t { a, b };

/// Who polls the engine: the application's own thread (run to completion), an lcore of its own, or
/// whichever thread polls, with a helper thread for when none does.
enum class Drive : uint8_t { rtc, lcore, assisted };

/// A peer whose MAC address is known beforehand and not asked for.
struct StaticNeighbour {
  Gid ip;
  MacAddress mac;

  friend constexpr bool operator==(const StaticNeighbour&, const StaticNeighbour&) = default;
};

struct PortSettings {
  PortKind kind{};
  Side side{};
  std::string socket;     ///< UNIX socket of virtio-user and memif
  bool packed = false;    ///< virtio-user: packed ring (both ends alike)
  std::string interface;  ///< kernel interface of af_packet, af_xdp and tap
  std::string pci;        ///< PCI address of a NIC bound to vfio-pci
  std::string vdev;       ///< EAL text of kind "vdev"
  uint32_t mtu = 0;       ///< largest IP packet in bytes
  uint32_t rx_descriptors = 0;
  uint32_t tx_descriptors = 0;
  uint32_t buffers = 0;           ///< frame buffers for each direction
  std::optional<MacAddress> mac;  ///< own MAC address; the device's own when absent
};

struct EalSettings {
  bool hugepages = false;
  uint32_t memory_mb = 0;
  uint32_t cpu = 0;                ///< the CPU that polls
  bool wide_simd = false;          ///< let DPDK use 512-bit vectors where the CPU has them
  std::vector<std::string> extra;  ///< further EAL arguments, as they are
};

struct AddressSettings {
  std::optional<Ipv4Prefix> ipv4;
  std::vector<Ipv6Prefix> ipv6;
  uint32_t vlan = 0;  ///< VLAN identifier of all frames; 0: untagged
  std::optional<Ipv4Address> gateway;
  std::optional<Ipv6Address> gateway6;
  std::vector<StaticNeighbour> neighbours;
};

struct EngineSettings {
  Drive drive{};
  uint32_t lcores = 0;              ///< engines, each with a queue pair of the port
  uint32_t window_packets = 0;      ///< unacknowledged packets a QP may have under way
  uint32_t held_packets = 0;        ///< may wait for an earlier one, over all QPs; 0: go-back-N
  uint32_t resolve_timeout_ms = 0;  ///< wait for a peer's MAC address
  uint32_t dcqcn_mbps = 0;          ///< rate without congestion, Mbit/s; 0: DCQCN is off
};

struct WrapSettings {
  std::string fault;    ///< "loss=1%,dup=..,reorder=..,corrupt=..,seed=N"; empty: none
  std::string capture;  ///< file for what passes, pcapng or, named *.pcap, pcap; empty: none
  std::string flight_recorder;  ///< pcapng file for the last packets before a failure; empty: none
};

struct TelemetrySettings {
  bool socket = false;           ///< answer dpdk-telemetry.py and uroce-top
  uint32_t prometheus_port = 0;  ///< TCP port of 127.0.0.1 for Prometheus; 0: none
};

/// All settings. Obtain one from load_config(); a default-constructed one is blank, not the
/// defaults.
struct Config {
  PortSettings port;
  EalSettings eal;
  AddressSettings address;
  EngineSettings engine;
  WrapSettings wrap;
  TelemetrySettings telemetry;
  /// Where each value came from, in the order of config_keys(): "default", "file x.toml:12",
  /// "environment UROCE_PORT_MTU", "flag --mtu".
  std::vector<std::string> origins;
};

/// The place in a Config that a key sets; its alternative is the key's type.
using ConfigSlot =
    std::variant<bool*, uint32_t*, std::string*, std::vector<std::string>*, PortKind*, Side*,
                 Drive*, std::optional<MacAddress>*, std::optional<Ipv4Address>*,
                 std::optional<Ipv6Address>*, std::optional<Ipv4Prefix>*, std::vector<Ipv6Prefix>*,
                 std::vector<StaticNeighbour>*>;

/// One setting.
struct ConfigKey {
  std::string_view path;  ///< "port.mtu"
  ConfigSlot (*slot)(Config&);
  std::string_view fallback;      ///< default, as the environment would spell it
  std::string_view help;          ///< one line, with the unit
  std::string_view flag = {};     ///< the programs' own flag for it, if any ("--side")
  uint32_t low = 0;               ///< integers only: least allowed value
  uint32_t high = 0;              ///< integers only: greatest allowed value
  std::string_view derived = {};  ///< how the default is found when it is not a constant
};

/// All settings, in the order they are shown.
std::span<const ConfigKey> config_keys();

/// "UROCE_PORT_MTU" for "port.mtu".
std::string environment_name(const ConfigKey& key);

/// What the key takes, for people: "true or false", "576 to 9600", "a, b", "an IPv4 address ...".
std::string allowed_values(const ConfigKey& key);

/// A value that came by flag: `value` as the environment would spell it.
struct ConfigFlag {
  std::string key;  ///< "port.mtu"
  std::string value;
  std::string flag;  ///< what the user typed: "--set port.mtu", "--side"
};

/// Where load_config() looks. A later one wins: default, file, environment, flags (last flag wins).
struct ConfigSources {
  Side default_side = Side::a;           ///< used when nothing sets port.side
  std::string file;                      ///< TOML file; empty: the variable UROCE_CONFIG, else none
  std::optional<std::string> text = {};  ///< TOML that takes the file's place; `file` only names it
  std::vector<std::pair<std::string, std::string>> environment;  ///< from process_environment()
  std::vector<ConfigFlag> flags;
  std::vector<uint32_t> cpus;  ///< CPUs this process may use; empty: asked from the system
};

/// The process's UROCE_* variables.
std::vector<std::pair<std::string, std::string>> process_environment();

/// Reads all sources and checks each value and their agreement. Refuses an unknown key (with the
/// nearest known one), a wrong type or value (with the allowed ones) and settings that contradict
/// each other; the error begins with the place: "config/x.toml:12: ...". Codes: EINVAL, or the
/// system's when the file cannot be read (ENOENT, EACCES, EISDIR).
Result<Config> load_config(const ConfigSources& sources);

/// Where the value of `path` came from. Requires a known path and a loaded Config.
const std::string& origin_of(const Config& config, std::string_view path);

/// All effective values as TOML, one "key = value  # where from" a line.
std::string show_config(const Config& config);

/// The words of an enumeration, as they are written in files.
std::string_view name_of(PortKind kind);
std::string_view name_of(Side side);
std::string_view name_of(Drive drive);

}  // namespace roce
