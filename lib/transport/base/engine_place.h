// EnginePlace: which of several engines behind one port's addresses an engine is. Each gives its
// QPs numbers from a range of its own, so that a packet's destination QPN alone names the engine.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/limits.h"

namespace roce {

struct EnginePlace {
  uint32_t index = 0;  ///< 0..count-1
  uint32_t count = 1;  ///< 1..kMaxEngines

  /// The index of the engine, of `count`, whose range has this QPN (below 2^24).
  static constexpr uint32_t owner_of(uint32_t qpn, uint32_t count) {
    return static_cast<uint32_t>(uint64_t{qpn} * count >> kQpnBits);
  }
  constexpr bool owns(uint32_t qpn) const { return owner_of(qpn, count) == index; }

  /// The least QPN of the range, and how many there are.
  constexpr uint32_t first() const { return bound(index); }
  constexpr uint32_t size() const { return bound(index + 1) - bound(index); }

 private:
  constexpr uint32_t bound(uint64_t i) const {
    return static_cast<uint32_t>(((i << kQpnBits) + count - 1) / count);
  }
};

}  // namespace roce
