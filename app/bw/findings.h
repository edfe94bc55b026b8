// What validation has found at one end.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/pattern.h"

namespace uroce::bw {

struct Findings {
  uint64_t checked = 0;  ///< messages of which every byte was compared
  uint64_t wrong = 0;    ///< of these, messages with a wrong byte
  uint64_t lost = 0;     ///< messages that did not arrive, or only in part
  std::string first;     ///< the first wrong byte, in words

  void note(const std::optional<app::WrongByte>& found) {
    ++checked;
    if (found) {
      ++wrong;
      first = first.empty() ? app::text_of(*found) : first;
    }
  }
  void add(const Findings& other) {
    checked += other.checked;
    wrong += other.wrong;
    lost += other.lost;
    first = first.empty() ? other.first : first;
  }
};

}  // namespace uroce::bw
