// The one line of the clock that needs DPDK: the frequency.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/dpdk/dpdk_clock.h"

#include <rte_cycles.h>

#include "base/check.h"

namespace roce {

TscClock TscClock::from_eal() {
  const uint64_t hz = rte_get_tsc_hz();
  ROCE_CHECK(hz != 0);
  return TscClock(hz);
}

}  // namespace roce
