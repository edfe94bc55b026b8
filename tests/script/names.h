// Names for generated cases.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cctype>
#include <string>

#include "script/script.h"
#include "script/words.h"

namespace roce::script {

/// "send_first"
inline std::string name_of(wire::Operation op) {
  std::string name = opcode_name(static_cast<uint8_t>(op)).substr(3);
  for (char& c : name) {
    c = static_cast<char>(std::tolower(c));
  }
  return name;
}

inline std::string pmtu_name(ibv_mtu mtu) {
  return "at_pmtu_" + std::to_string(128u << mtu);
}

inline constexpr ibv_mtu kEveryPmtu[] = {IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048,
                                         IBV_MTU_4096};

}  // namespace roce::script
