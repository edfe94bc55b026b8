// The opcodes as docs/rules.md (P1, P6) and the specification list them, written down once more and
// apart from the library's table, so that the enumeration does not believe what it is to judge.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace roce::enumeration {

enum class Kind : uint8_t {
  none,  ///< reserved
  send,
  write,
  read,
  atomic,
  atomic_write,
  flush,
  read_response,
  acknowledge,
  atomic_acknowledge,
};
enum class Place : uint8_t { first, middle, last, only };

/// What one opcode of a transport class is.
struct Row {
  Kind kind = Kind::none;
  Place place = Place::only;
  bool imm = false;
  bool invalidate = false;

  bool known() const { return kind != Kind::none; }
  bool begins() const { return place == Place::first || place == Place::only; }
  bool ends() const { return place == Place::last || place == Place::only; }
  bool is_response() const {
    return kind == Kind::read_response || kind == Kind::acknowledge ||
           kind == Kind::atomic_acknowledge;
  }
};

inline constexpr uint8_t kRc = 0;
inline constexpr uint8_t kUc = 1;
inline constexpr uint8_t kUd = 3;
inline constexpr uint8_t kCongestion = 0x81;  ///< a whole byte

/// The row of the lower five bits in the class `transport`.
inline Row row_of(uint8_t transport, uint8_t operation) {
  constexpr Row kRows[32] = {{Kind::send, Place::first},
                             {Kind::send, Place::middle},
                             {Kind::send, Place::last},
                             {Kind::send, Place::last, true},
                             {Kind::send, Place::only},
                             {Kind::send, Place::only, true},
                             {Kind::write, Place::first},
                             {Kind::write, Place::middle},
                             {Kind::write, Place::last},
                             {Kind::write, Place::last, true},
                             {Kind::write, Place::only},
                             {Kind::write, Place::only, true},
                             {Kind::read},
                             {Kind::read_response, Place::first},
                             {Kind::read_response, Place::middle},
                             {Kind::read_response, Place::last},
                             {Kind::read_response, Place::only},
                             {Kind::acknowledge},
                             {Kind::atomic_acknowledge},
                             {Kind::atomic},
                             {Kind::atomic},
                             {},
                             {Kind::send, Place::last, false, true},
                             {Kind::send, Place::only, false, true},
                             {},
                             {},
                             {},
                             {},
                             {Kind::flush},
                             {Kind::atomic_write},
                             {},
                             {}};
  const Row row = kRows[operation & 0x1f];
  switch (transport) {
    case kRc:
      return row;
    case kUc:
      return operation <= 0x0b ? row : Row{};
    case kUd:
      return operation == 0x04 || operation == 0x05 ? row : Row{};
    default:
      return {};
  }
}

/// Bytes of the extension headers between BTH and payload.
inline size_t extension_bytes(uint8_t transport, const Row& row) {
  if (!row.known()) {
    return 0;
  }
  size_t n = transport == kUd ? 8 : 0;
  n += row.imm ? 4 : 0;
  n += row.invalidate ? 4 : 0;
  switch (row.kind) {
    case Kind::write:
      return n + (row.begins() ? 16 : 0);
    case Kind::read:
    case Kind::atomic_write:
      return n + 16;
    case Kind::flush:
      return n + 4 + 16;
    case Kind::atomic:
      return n + 28;
    case Kind::read_response:
      return n + (row.place == Place::middle ? 0 : 4);
    case Kind::acknowledge:
      return n + 4;
    case Kind::atomic_acknowledge:
      return n + 4 + 8;
    default:
      return n;
  }
}

}  // namespace roce::enumeration
