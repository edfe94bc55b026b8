// The AETH syndrome: positive acknowledgement, RNR NAK with its timer code, NAK with its reason
// (spec/protocol-and-verbs.md 3.1 and 3.2).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"

namespace roce::wire {

enum class AckKind : uint8_t { ack, rnr_nak, reserved, nak };

enum class NakCode : uint8_t {
  psn_sequence_error = 0,
  invalid_request = 1,
  remote_access_error = 2,
  remote_operational_error = 3,
};

/// Credit code 0x1f: the responder does not use end-to-end flow control.
inline constexpr uint8_t kSyndromeAck = 0x1f;

constexpr AckKind kind_of(uint8_t syndrome) {
  return (syndrome & 0x80) != 0 ? AckKind::reserved : static_cast<AckKind>(syndrome >> 5);
}
constexpr uint8_t code_of(uint8_t syndrome) {
  return syndrome & 0x1f;
}
constexpr uint8_t nak_syndrome(NakCode code) {
  return static_cast<uint8_t>(0x60 | static_cast<uint8_t>(code));
}
constexpr uint8_t rnr_syndrome(uint8_t timer_code) {
  return static_cast<uint8_t>(0x20 | (timer_code & 0x1f));
}

/// Microseconds that an RNR NAK's 5-bit timer code asks the requester to wait.
inline constexpr std::array<uint32_t, 32> kRnrTimerUs = {
    655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,   320,
    480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240, 15360,
    20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};

constexpr Duration rnr_delay(uint8_t timer_code) {
  return Duration::from_us(kRnrTimerUs[timer_code & 0x1f]);
}

/// Local ACK timeout of code t: 4.096 us * 2^t. Code 0 means "never".
constexpr Duration ack_timeout(uint8_t code) {
  return Duration::from_ns(int64_t{4096} << (code & 0x1f));
}

}  // namespace roce::wire
