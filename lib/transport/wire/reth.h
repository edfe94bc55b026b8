// RDMA Extended Transport Header: on the first packet of a WRITE and on a READ request (IBTA vol.
// 1, 9.3.3).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace roce::wire {

struct Reth {
  static constexpr size_t kSize = 16;

  uint64_t va = 0;  ///< virtual address in the responder's region
  uint32_t rkey = 0;
  uint32_t dma_length = 0;  ///< bytes of the whole message, at most 2^31

  static Reth parse(const uint8_t* p) {
    return {load_be<uint64_t>(p + 0), load_be<uint32_t>(p + 8), load_be<uint32_t>(p + 12)};
  }

  void emit(uint8_t* p) const {
    store_be<uint64_t>(p + 0, va);
    store_be<uint32_t>(p + 8, rkey);
    store_be<uint32_t>(p + 12, dma_length);
  }
};

}  // namespace roce::wire
