// FLUSH Extended Transport Header (IBTA vol. 1, annex on memory placement extensions).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace roce::wire {

struct Feth {
  static constexpr size_t kSize = 4;
  static constexpr uint8_t kGlobalVisibility = 1;
  static constexpr uint8_t kPersistence = 2;
  static constexpr uint8_t kRange = 0;
  static constexpr uint8_t kWholeRegion = 1;

  uint8_t placement = 0;    ///< PLT, bits 3..0: 1 global visibility, 2 persistence
  uint8_t selectivity = 0;  ///< SEL, bits 5..4: 0 range, 1 whole region
  uint32_t reserved = 0;    ///< the upper 26 bits

  static Feth parse(const uint8_t* p) {
    const auto word = load_be<uint32_t>(p);
    return {static_cast<uint8_t>(word & 0x0f), static_cast<uint8_t>(word >> 4 & 3), word >> 6};
  }

  uint32_t word() const {
    return reserved << 6 | static_cast<uint32_t>(selectivity & 3) << 4 | (placement & 0x0fu);
  }

  void emit(uint8_t* p) const { store_be<uint32_t>(p, word()); }
};

}  // namespace roce::wire
