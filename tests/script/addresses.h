// Who is who on the scripts' wire.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/address.h"
#include "script/script.h"

namespace roce::script {

inline constexpr MacAddress kPeerMac{{0x02, 0, 0, 0, 0, 2}};

constexpr Ipv4Address ipv4_of(bool peer) {
  return {{192, 0, 2, static_cast<uint8_t>(peer ? 2 : 1)}};
}
constexpr Ipv6Address ipv6_of(bool peer) {
  return {{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
           static_cast<uint8_t>(peer ? 2 : 1)}};
}

inline Gid gid_of(const Setup& setup, bool peer) {
  return setup.ipv6 ? Gid::from(ipv6_of(peer)) : Gid::from(ipv4_of(peer));
}

}  // namespace roce::script
