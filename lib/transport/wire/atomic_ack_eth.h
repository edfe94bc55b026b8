// Atomic ACK Extended Transport Header: the value that the atomic found (IBTA vol. 1, 9.3.5.3).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace roce::wire {

struct AtomicAckEth {
  static constexpr size_t kSize = 8;

  uint64_t original = 0;

  static AtomicAckEth parse(const uint8_t* p) { return {load_be<uint64_t>(p + 0)}; }

  void emit(uint8_t* p) const { store_be<uint64_t>(p + 0, original); }
};

}  // namespace roce::wire
