// Opcodes of the Base Transport Header: the one table that says what each is and carries
// (spec/protocol-and-verbs.md 1.1).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/aeth.h"
#include "wire/atomic_ack_eth.h"
#include "wire/atomic_eth.h"
#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/feth.h"
#include "wire/ieth.h"
#include "wire/imm_dt.h"
#include "wire/reth.h"

namespace roce::wire {

/// Upper three bits of the opcode byte.
enum class Transport : uint8_t { rc = 0, uc = 1, rd = 2, ud = 3, cnp = 4 };

/// Lower five bits of the opcode byte.
enum class Operation : uint8_t {
  send_first = 0x00,
  send_middle = 0x01,
  send_last = 0x02,
  send_last_imm = 0x03,
  send_only = 0x04,
  send_only_imm = 0x05,
  write_first = 0x06,
  write_middle = 0x07,
  write_last = 0x08,
  write_last_imm = 0x09,
  write_only = 0x0a,
  write_only_imm = 0x0b,
  read_request = 0x0c,
  read_response_first = 0x0d,
  read_response_middle = 0x0e,
  read_response_last = 0x0f,
  read_response_only = 0x10,
  acknowledge = 0x11,
  atomic_acknowledge = 0x12,
  cmp_swap = 0x13,
  fetch_add = 0x14,
  send_last_inv = 0x16,
  send_only_inv = 0x17,
  flush = 0x1c,
  atomic_write = 0x1d,
};

/// Congestion notification packet: a whole byte of its own.
inline constexpr uint8_t kCnpOpcode = 0x81;

/// What a packet does, whatever its place in the message.
enum class Verb : uint8_t { send, write, read, atomic, flush, atomic_write, response, congestion };

struct OpcodeInfo {
  bool known = false;
  Verb verb = Verb::send;
  bool first = false;    ///< begins a message (FIRST and ONLY)
  bool last = false;     ///< ends a message (LAST and ONLY)
  bool payload = false;  ///< may carry payload
  // Extension headers, in wire order.
  bool deth = false;
  bool reth = false;
  bool aeth = false;
  bool atomic_eth = false;
  bool atomic_ack_eth = false;
  bool imm = false;
  bool ieth = false;
  bool feth = false;
  uint8_t headers_len = 0;  ///< bytes of BTH and extension headers

  constexpr bool request() const { return verb != Verb::response && verb != Verb::congestion; }
};

constexpr uint8_t opcode_of(Transport t, Operation op) {
  return static_cast<uint8_t>(static_cast<uint8_t>(t) << 5 | static_cast<uint8_t>(op));
}
constexpr Transport transport_of(uint8_t opcode) {
  return static_cast<Transport>(opcode >> 5);
}
constexpr Operation operation_of(uint8_t opcode) {
  return static_cast<Operation>(opcode & 0x1f);
}

namespace detail {

constexpr uint8_t headers_len_of(const OpcodeInfo& i) {
  return static_cast<uint8_t>(Bth::kSize + (i.deth ? Deth::kSize : 0) + (i.reth ? Reth::kSize : 0) +
                              (i.aeth ? Aeth::kSize : 0) + (i.atomic_eth ? AtomicEth::kSize : 0) +
                              (i.atomic_ack_eth ? AtomicAckEth::kSize : 0) +
                              (i.imm ? ImmDt::kSize : 0) + (i.ieth ? Ieth::kSize : 0) +
                              (i.feth ? Feth::kSize : 0));
}

consteval std::array<OpcodeInfo, 256> make_opcode_table() {
  std::array<OpcodeInfo, 256> table{};
  for (OpcodeInfo& reserved : table) {
    reserved.headers_len = Bth::kSize;
  }
  const auto add = [&table](Transport t, Operation op, OpcodeInfo info) {
    info.known = true;
    info.deth = t == Transport::ud;
    info.headers_len = headers_len_of(info);
    table[opcode_of(t, op)] = info;
  };
  using enum Operation;
  for (const Transport t : {Transport::rc, Transport::uc}) {
    add(t, send_first, {.verb = Verb::send, .first = true, .payload = true});
    add(t, send_middle, {.verb = Verb::send, .payload = true});
    add(t, send_last, {.verb = Verb::send, .last = true, .payload = true});
    add(t, send_last_imm, {.verb = Verb::send, .last = true, .payload = true, .imm = true});
    add(t, write_first, {.verb = Verb::write, .first = true, .payload = true, .reth = true});
    add(t, write_middle, {.verb = Verb::write, .payload = true});
    add(t, write_last, {.verb = Verb::write, .last = true, .payload = true});
    add(t, write_last_imm, {.verb = Verb::write, .last = true, .payload = true, .imm = true});
    add(t, write_only,
        {.verb = Verb::write, .first = true, .last = true, .payload = true, .reth = true});
    add(t, write_only_imm,
        {.verb = Verb::write,
         .first = true,
         .last = true,
         .payload = true,
         .reth = true,
         .imm = true});
  }
  for (const Transport t : {Transport::rc, Transport::uc, Transport::ud}) {
    add(t, send_only, {.verb = Verb::send, .first = true, .last = true, .payload = true});
    add(t, send_only_imm,
        {.verb = Verb::send, .first = true, .last = true, .payload = true, .imm = true});
  }
  constexpr Transport kRc = Transport::rc;
  add(kRc, read_request, {.verb = Verb::read, .first = true, .last = true, .reth = true});
  add(kRc, read_response_first,
      {.verb = Verb::response, .first = true, .payload = true, .aeth = true});
  add(kRc, read_response_middle, {.verb = Verb::response, .payload = true});
  add(kRc, read_response_last,
      {.verb = Verb::response, .last = true, .payload = true, .aeth = true});
  add(kRc, read_response_only,
      {.verb = Verb::response, .first = true, .last = true, .payload = true, .aeth = true});
  add(kRc, acknowledge, {.verb = Verb::response, .first = true, .last = true, .aeth = true});
  add(kRc, atomic_acknowledge,
      {.verb = Verb::response, .first = true, .last = true, .aeth = true, .atomic_ack_eth = true});
  add(kRc, cmp_swap, {.verb = Verb::atomic, .first = true, .last = true, .atomic_eth = true});
  add(kRc, fetch_add, {.verb = Verb::atomic, .first = true, .last = true, .atomic_eth = true});
  add(kRc, send_last_inv, {.verb = Verb::send, .last = true, .payload = true, .ieth = true});
  add(kRc, send_only_inv,
      {.verb = Verb::send, .first = true, .last = true, .payload = true, .ieth = true});
  add(kRc, flush, {.verb = Verb::flush, .first = true, .last = true, .reth = true, .feth = true});
  add(kRc, atomic_write,
      {.verb = Verb::atomic_write, .first = true, .last = true, .payload = true, .reth = true});
  table[kCnpOpcode] = {.known = true,
                       .verb = Verb::congestion,
                       .first = true,
                       .last = true,
                       .payload = true,
                       .headers_len = Bth::kSize};
  return table;
}

}  // namespace detail

inline constexpr std::array<OpcodeInfo, 256> kOpcodes = detail::make_opcode_table();

static_assert(kOpcodes[0x04].known && kOpcodes[0x04].headers_len == 12);
static_assert(kOpcodes[0x0b].headers_len == 12 + 16 + 4 && kOpcodes[0x0b].imm);
static_assert(kOpcodes[0x65].headers_len == 12 + 8 + 4 && kOpcodes[0x65].deth);
static_assert(kOpcodes[0x12].headers_len == 12 + 4 + 8);
static_assert(!kOpcodes[0x15].known && !kOpcodes[0x40].known);

}  // namespace roce::wire
