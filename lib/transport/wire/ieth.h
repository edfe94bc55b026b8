// Invalidate Extended Transport Header: on SEND with invalidate.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace roce::wire {

struct Ieth {
  static constexpr size_t kSize = 4;

  uint32_t rkey = 0;  ///< key that the responder invalidates

  static Ieth parse(const uint8_t* p) { return {load_be<uint32_t>(p + 0)}; }

  void emit(uint8_t* p) const { store_be<uint32_t>(p + 0, rkey); }
};

}  // namespace roce::wire
