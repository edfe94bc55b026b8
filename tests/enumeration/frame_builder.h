// FrameBuilder: packets of the rig's peer, and who is who on its wire.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/address.h"
#include "enumeration/judge.h"

namespace roce::enumeration {

inline constexpr MacAddress kPeerMac{{0x02, 0, 0, 0, 0, 2}};
inline constexpr Ipv4Address kOwnIp{{192, 0, 2, 1}};
inline constexpr Ipv4Address kPeerIp{{192, 0, 2, 2}};
inline constexpr uint32_t kPeerQpn = 0x00abcd;
inline constexpr uint32_t kQkey = 0x11111111;

// Places in a frame.
inline constexpr size_t kIpAt = 14;
inline constexpr size_t kUdpAt = 34;
inline constexpr size_t kBthAt = 42;
inline constexpr size_t kExtensionsAt = 54;

/// A frame as the peer sends it, built without the library's encoder of frames.
class FrameBuilder {
 public:
  /// A packet to `qpn`: the opcode's headers, all of whose fields are valid in the rig, then
  /// `bytes` bytes. `dma_length` goes into a RETH.
  std::span<const uint8_t> build(const Tuple& tuple, uint32_t qpn, uint32_t psn, uint64_t va,
                                 uint32_t rkey, uint32_t dma_length);

 private:
  uint8_t* put_extensions(uint8_t* at, uint8_t opcode, uint64_t va, uint32_t rkey,
                          uint32_t dma_length) const;

  std::array<uint8_t, 512> frame_{};
};

}  // namespace roce::enumeration
