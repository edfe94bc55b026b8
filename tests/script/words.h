// What failures of packet scripts say: packets, completions and events in words.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "wire/fields.h"

namespace roce::script {

/// "SEND_ONLY", or "opcode 0x15" for a reserved one.
std::string opcode_name(uint8_t opcode);
/// One line: opcode, PSN, flags, extension headers, payload length.
std::string in_words(const wire::Fields& packet);
std::string in_words(const ibv_wc& wc);
std::string event_name(ibv_event_type type);

/// A line for each field in which the packets differ: "  PSN: expected 0x000001, seen 0x000002".
std::string differences(const wire::Fields& expected, const wire::Fields& seen);

/// Bytes as hexadecimal digits.
std::string in_hex(const std::vector<uint8_t>& bytes);

/// Lower-case hexadecimal with 0x in front, at least `digits` long.
std::string hex(uint64_t value, int digits = 0);

}  // namespace roce::script
