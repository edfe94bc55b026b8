// From address vectors to ways through the network: checks, neighbour resolution, header templates.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include "base/address.h"
#include "base/result.h"
#include "qp/path.h"
#include "wire/bth.h"

namespace roce::verbs {

namespace detail {
struct DeviceState;
}

/// Largest path MTU whose packets fit.
ibv_mtu largest_pmtu(uint32_t port_mtu);

Gid to_gid(const ibv_gid& gid);

/// EINVAL, with the field that is wrong.
Status check_address(const detail::DeviceState& device, const ibv_ah_attr& ah);
/// EINVAL when the destination is a group.
Status check_unicast(const ibv_ah_attr& ah);

/// Whose packets go the way; all zero for an address handle, which anybody may use.
struct PathUser {
  uint32_t local_qpn = 0;
  uint32_t remote_qpn = 0;
  uint16_t pkey = wire::kDefaultPkey;
};

/// Requires check_address(). Resolves the destination's Ethernet address while the engine is
/// driven; EHOSTUNREACH when nobody answers in time.
Result<Path> make_path(detail::DeviceState& device, const ibv_ah_attr& ah, const PathUser& user);

}  // namespace roce::verbs
