// Newest first: its memory is the warmest, and a pool that nobody asks for lies at the bottom.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/dpdk/pool_shelf.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <vector>

#include <rte_mbuf.h>

namespace roce::dpdk {
namespace {

std::mutex g_mutex;

/// Never destroyed: a device may be closed after the statics of this file.
std::vector<rte_mempool*>& shelf() {
  static auto* const pools = new std::vector<rte_mempool*>;
  return *pools;
}

}  // namespace

rte_mempool* take_kept_pool(uint32_t buffers, uint32_t room, int socket) {
  const std::lock_guard lock(g_mutex);
  const auto fits = [&](const rte_mempool* pool) {
    return pool->size == buffers && pool->socket_id == socket &&
           rte_pktmbuf_data_room_size(const_cast<rte_mempool*>(pool)) == room;
  };
  const auto found = std::find_if(shelf().rbegin(), shelf().rend(), fits);
  if (found == shelf().rend()) {
    return nullptr;
  }
  rte_mempool* const pool = *found;
  shelf().erase(std::next(found).base());
  return pool;
}

void keep_pool(rte_mempool* pool) {
  const std::lock_guard lock(g_mutex);
  shelf().push_back(pool);
}

bool free_kept_pools() {
  const std::lock_guard lock(g_mutex);
  const bool any = !shelf().empty();
  for (rte_mempool* pool : shelf()) {
    rte_mempool_free(pool);
  }
  shelf().clear();
  return any;
}

}  // namespace roce::dpdk
