// Base Transport Header (IBTA vol. 1, 9.2; spec/protocol-and-verbs.md 1.2).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/psn.h"

namespace roce::wire {

inline constexpr uint16_t kDefaultPkey = 0xffff;

/// The key itself must agree; its upper bit tells full members from limited ones, of which two may
/// not talk to each other.
constexpr bool pkeys_match(uint16_t a, uint16_t b) {
  return ((a ^ b) & 0x7fff) == 0 && ((a | b) & 0x8000) != 0;
}

struct Bth {
  static constexpr size_t kSize = 12;
  // Where the words that change from packet to packet sit.
  static constexpr size_t kOpcodeAt = 0;
  static constexpr size_t kFlagsAt = 1;
  static constexpr size_t kPkeyAt = 2;
  static constexpr size_t kCongestionAt = 4;
  static constexpr size_t kDestQpAt = 5;
  static constexpr size_t kAckReqAt = 8;
  static constexpr size_t kPsnAt = 9;
  // Bits of the flags byte.
  static constexpr uint8_t kSolicitedBit = 0x80;
  static constexpr uint8_t kMigReqBit = 0x40;
  static constexpr unsigned kPadShift = 4;
  static constexpr uint8_t kBecnBit = 0x40;  ///< of the byte at kCongestionAt
  static constexpr uint8_t kAckReqBit = 0x80;

  uint8_t opcode = 0;
  bool solicited = false;
  bool mig_req = false;
  uint8_t pad_count = 0;          ///< 0..3 bytes between payload and ICRC
  uint8_t transport_version = 0;  ///< 0; anything else is dropped
  uint16_t pkey = kDefaultPkey;
  bool fecn = false;
  bool becn = false;
  uint8_t reserved6 = 0;
  uint32_t dest_qp = 0;  ///< 24 bits
  bool ack_req = false;
  uint8_t reserved7 = 0;
  Psn psn;

  static Bth parse(const uint8_t* p) {
    Bth h;
    h.opcode = p[0];
    h.solicited = (p[1] & kSolicitedBit) != 0;
    h.mig_req = (p[1] & kMigReqBit) != 0;
    h.pad_count = (p[1] >> kPadShift) & 3;
    h.transport_version = p[1] & 0x0f;
    h.pkey = load_be<uint16_t>(p + 2);
    h.fecn = (p[4] & 0x80) != 0;
    h.becn = (p[4] & 0x40) != 0;
    h.reserved6 = p[4] & 0x3f;
    h.dest_qp = load_be24(p + kDestQpAt);
    h.ack_req = (p[8] & kAckReqBit) != 0;
    h.reserved7 = p[8] & 0x7f;
    h.psn = Psn(load_be24(p + kPsnAt));
    return h;
  }

  void emit(uint8_t* p) const {
    p[0] = opcode;
    p[1] = static_cast<uint8_t>((solicited ? kSolicitedBit : 0) | (mig_req ? kMigReqBit : 0) |
                                (pad_count & 3) << kPadShift | (transport_version & 0x0f));
    store_be<uint16_t>(p + 2, pkey);
    p[4] = static_cast<uint8_t>((fecn ? 0x80 : 0) | (becn ? 0x40 : 0) | (reserved6 & 0x3f));
    store_be24(p + kDestQpAt, dest_qp);
    p[8] = static_cast<uint8_t>((ack_req ? kAckReqBit : 0) | (reserved7 & 0x7f));
    store_be24(p + kPsnAt, psn.value());
  }
};

}  // namespace roce::wire
