// Immediate data: four bytes that the sender hands to the receiver's completion.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace roce::wire {

struct ImmDt {
  static constexpr size_t kSize = 4;

  uint32_t data = 0;  ///< value of the big-endian field

  static ImmDt parse(const uint8_t* p) { return {load_be<uint32_t>(p + 0)}; }

  void emit(uint8_t* p) const { store_be<uint32_t>(p + 0, data); }
};

}  // namespace roce::wire
