// ACK Extended Transport Header: on acknowledgements and on all READ responses but MIDDLE (IBTA
// vol. 1, 9.3.5). The syndrome's codes are in syndrome.h.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace roce::wire {

struct Aeth {
  static constexpr size_t kSize = 4;

  uint8_t syndrome = 0;
  uint32_t msn = 0;  ///< 24 bits: requests completed by the responder

  static Aeth parse(const uint8_t* p) { return {p[0], load_be24(p + 1)}; }

  void emit(uint8_t* p) const {
    p[0] = syndrome;
    store_be24(p + 1, msn);
  }
};

}  // namespace roce::wire
