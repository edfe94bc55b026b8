// Path: how packets get from one QP to its peer, as a ready-made header template: Ethernet, IP, UDP
// and BTH with everything that is the same in each packet. Built once, at INIT -> RTR.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/address.h"
#include "wire/packet.h"

namespace roce {

/// What an address vector resolves to.
struct PathSpec {
  MacAddress source_mac;
  MacAddress destination_mac;
  std::optional<uint16_t> vlan_id;
  uint8_t vlan_priority = 0;
  Gid source;
  Gid destination;
  uint8_t traffic_class = 0;  ///< DSCP and ECN; the IPv4 type of service likewise
  uint8_t hop_limit = 64;
  uint32_t flow_label = 0;  ///< 20 bits; 0: derived from the QPNs
  uint16_t pkey = 0xffff;
  uint32_t local_qpn = 0;
  uint32_t remote_qpn = 0;
};

/// UDP source port of a flow (spec/protocol-and-verbs.md 5.2): from the flow label, or from the
/// pair of QPNs when that is 0. Same both ways; range 0xc000..0xffff.
uint16_t udp_source_port(uint32_t flow_label, uint32_t local_qpn, uint32_t remote_qpn);

class Path {
 public:
  /// Bytes that write_headers() may touch: a fixed-size copy is cheaper than an exact one.
  static constexpr size_t kTemplateBytes = 80;

  Path() = default;
  explicit Path(const PathSpec& spec);

  /// Writes the headers up to and with the BTH at `frame` (room for kTemplateBytes); the BTH's
  /// opcode, flags and PSN stay to be patched. `after_bth`: bytes that follow the BTH, ICRC
  /// included.
  void write_headers(uint8_t* frame, uint32_t after_bth) const;

  size_t l3_at() const { return l3_at_; }
  size_t bth_at() const { return bth_at_; }

  /// True when the packet comes from this path's far end to its near end.
  bool matches(const wire::Packet& packet) const;

  /// Where frames go: to the port; back into the engine, since the destination is the source; or to
  /// a multicast group, which this node may belong to as well.
  enum class Destination : uint8_t { port, local, group };
  Destination destination() const { return destination_; }

 private:
  std::array<uint8_t, kTemplateBytes> bytes_{};
  uint32_t ip_sum_ = 0;  // unfolded checksum of the IPv4 header with total length 0
  uint8_t l3_at_ = 0;
  uint8_t udp_at_ = 0;
  uint8_t bth_at_ = 0;
  bool ipv6_ = false;
  Destination destination_ = Destination::port;
};

static_assert(sizeof(Path) <= 96);  // a line and a half

}  // namespace roce
