// HostilePacket: a frame with whatever its sender likes in it, yet with right lengths, checksum and
// ICRC, so that it reaches the queue pair that it names.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/address.h"

namespace roce::fuzz {

inline constexpr MacAddress kOwnMac{{0x02, 0, 0, 0, 0, 1}};
inline constexpr MacAddress kPeerMac{{0x02, 0, 0, 0, 0, 2}};
inline constexpr Ipv4Address kOwnIp{{192, 0, 2, 1}};
inline constexpr Ipv4Address kPeerIp{{192, 0, 2, 2}};
inline constexpr Ipv4Address kGroupIp{{224, 1, 2, 3}};

struct HostilePacket {
  uint8_t opcode = 0;
  uint32_t qpn = 0;
  uint32_t psn = 0;
  uint8_t pad = 0;
  bool ack_req = false;
  bool solicited = false;
  bool congested = false;  ///< marked "congestion experienced"
  bool to_group = false;
  uint16_t pkey = 0xffff;
  // What goes into those extension headers that the opcode has.
  uint64_t va = 0;
  uint32_t rkey = 0;
  uint32_t dma_length = 0;
  uint64_t swap_or_add = 0;
  uint64_t compare = 0;
  uint8_t syndrome = 0;
  uint32_t imm_or_rkey = 0;
  uint32_t qkey = 0;
  uint32_t src_qp = 0;
  uint32_t feth = 0;
  uint32_t bytes = 0;  ///< behind the headers: payload and pad
};

class HostileFrame {
 public:
  static constexpr size_t kRoom = 1200;

  /// Valid until the next call. `packet.bytes` must leave room for the headers (checked).
  std::span<uint8_t> build(const HostilePacket& packet);

 private:
  std::array<uint8_t, kRoom> frame_{};
};

}  // namespace roce::fuzz
