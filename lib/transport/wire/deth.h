// Datagram Extended Transport Header: on every UD packet (IBTA vol. 1, 9.3.2).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace roce::wire {

struct Deth {
  static constexpr size_t kSize = 8;

  uint32_t qkey = 0;
  uint8_t reserved = 0;
  uint32_t src_qp = 0;  ///< 24 bits

  static Deth parse(const uint8_t* p) { return {load_be<uint32_t>(p + 0), p[4], load_be24(p + 5)}; }

  void emit(uint8_t* p) const {
    store_be<uint32_t>(p + 0, qkey);
    p[4] = reserved;
    store_be24(p + 5, src_qp);
  }
};

}  // namespace roce::wire
