// Atomic Extended Transport Header: on CMP_SWAP and FETCH_ADD requests (IBTA vol. 1, 9.3.4).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace roce::wire {

struct AtomicEth {
  static constexpr size_t kSize = 28;

  uint64_t va = 0;  ///< 8-byte aligned, else NAK invalid request
  uint32_t rkey = 0;
  uint64_t swap_or_add = 0;
  uint64_t compare = 0;  ///< CMP_SWAP only

  static AtomicEth parse(const uint8_t* p) {
    return {load_be<uint64_t>(p + 0), load_be<uint32_t>(p + 8), load_be<uint64_t>(p + 12),
            load_be<uint64_t>(p + 20)};
  }

  void emit(uint8_t* p) const {
    store_be<uint64_t>(p + 0, va);
    store_be<uint32_t>(p + 8, rkey);
    store_be<uint64_t>(p + 12, swap_or_add);
    store_be<uint64_t>(p + 20, compare);
  }
};

}  // namespace roce::wire
