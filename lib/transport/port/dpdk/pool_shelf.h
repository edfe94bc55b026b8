// The buffer pools of closed devices, kept for the next one. DPDK clears a pool's memory when it is
// freed, and touches for that what no packet ever touched: without hugepages 0.3 s for the default
// device, longer than all else that a program does at its end.
// Thread rule: any thread.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <rte_mempool.h>

namespace roce::dpdk {

/// A kept pool of exactly `buffers` of `room` bytes for that socket, the caller's from now on;
/// nullptr: there is none.
rte_mempool* take_kept_pool(uint32_t buffers, uint32_t room, int socket);

/// Keeps a pool whose buffers are all home.
void keep_pool(rte_mempool* pool);

/// Frees what is kept, for a pool that finds no memory otherwise. False when nothing was.
bool free_kept_pools();

}  // namespace roce::dpdk
