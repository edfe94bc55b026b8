// LIDs, the addresses of InfiniBand. RoCE has none, but some programs (qperf) name their peer by
// nothing else. Where they fit, the host bits of the own IPv4 address serve: LID 2 is 192.0.2.2 for
// every node of 192.0.2.0/24. Thread: any.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

namespace roce::ibv {

/// The own one; 0 when there is no IPv4 address, or its host bits are no unicast LID. Requires an
/// open process.
uint16_t own_lid();

/// The same address by GID, if `attr` gives a LID only and this node has one.
ibv_ah_attr with_gid(ibv_ah_attr attr);

}  // namespace roce::ibv
