// Packets as scripts write them: one value for those that the peer sends and for those that the
// device is expected to send. Whatever a script does not mention has the one right value, which the
// Script fills in: addresses, queue pair numbers, lengths, checksums, pad, ICRC.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/fields.h"
#include "wire/opcode.h"
#include "wire/syndrome.h"

namespace roce::script {

using Bytes = std::vector<uint8_t>;

/// `n` bytes that differ from their neighbours, and from those of another seed.
inline Bytes pattern(size_t n, uint8_t seed = 1) {
  Bytes bytes(n);
  for (size_t i = 0; i < n; ++i) {
    bytes[i] = static_cast<uint8_t>(i * 7 + i / 251 + size_t{seed} * 31);
  }
  return bytes;
}

inline Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

struct Pkt {
  wire::Operation operation;
  int32_t psn = 0;  ///< counted from the first PSN of this direction's requests
  wire::Fields fields;
  std::optional<uint8_t> opcode;  ///< the whole byte; else by `operation` and the QP's type
  std::optional<size_t> pad_length;
  std::vector<std::function<void(wire::Fields&)>> edits;  ///< before lengths and ICRC are filled in
  std::vector<std::function<void(wire::Fields&)>> spoils;  ///< after that
  std::vector<std::function<void(Bytes&)>> raw_spoils;     ///< on the frame

  Pkt& ack_req(bool on = true) {
    fields.bth.ack_req = on;
    return *this;
  }
  Pkt& solicited(bool on = true) {
    fields.bth.solicited = on;
    return *this;
  }
  /// `n` bytes of pattern(n, seed) as payload.
  Pkt& data(size_t n, uint8_t seed = 1) { return bytes(pattern(n, seed)); }
  Pkt& bytes(Bytes b) {
    fields.payload = std::move(b);
    return *this;
  }
  Pkt& reth(uint64_t va, uint32_t rkey, uint32_t length) {
    fields.reth = {va, rkey, length};
    return *this;
  }
  Pkt& atomic(uint64_t va, uint32_t rkey, uint64_t swap_or_add, uint64_t compare = 0) {
    fields.atomic_eth = {va, rkey, swap_or_add, compare};
    return *this;
  }
  Pkt& imm(uint32_t value) {
    fields.imm.data = value;
    return *this;
  }
  Pkt& ieth(uint32_t rkey) {
    fields.ieth.rkey = rkey;
    return *this;
  }
  Pkt& deth(uint32_t qkey, uint32_t src_qp) {
    fields.deth = {qkey, 0, src_qp};
    return *this;
  }
  Pkt& feth(uint8_t placement, uint8_t selectivity) {
    fields.feth = {placement, selectivity, 0};
    return *this;
  }
  /// Another pad than the one that the payload's length asks for; all lengths fit it.
  Pkt& pad(size_t n) {
    pad_length = n;
    return *this;
  }
  Pkt& with_opcode(uint8_t byte) {
    opcode = byte;
    return *this;
  }
  /// Changes fields before lengths, pad and ICRC are computed: a packet that is well-formed.
  Pkt& edit(std::function<void(wire::Fields&)> f) {
    edits.push_back(std::move(f));
    return *this;
  }
  /// Changes fields afterwards; the ICRC stays what it was.
  Pkt& spoil(std::function<void(wire::Fields&)> f) {
    spoils.push_back(std::move(f));
    return *this;
  }
  Pkt& spoil_frame(std::function<void(Bytes&)> f) {
    raw_spoils.push_back(std::move(f));
    return *this;
  }
};

inline Pkt packet(wire::Operation op, int32_t psn) {
  Pkt p{};
  p.operation = op;
  p.psn = psn;
  return p;
}

// --- requests

inline Pkt send_first(int32_t psn) {
  return packet(wire::Operation::send_first, psn);
}
inline Pkt send_middle(int32_t psn) {
  return packet(wire::Operation::send_middle, psn);
}
inline Pkt send_last(int32_t psn) {
  return packet(wire::Operation::send_last, psn);
}
inline Pkt send_only(int32_t psn) {
  return packet(wire::Operation::send_only, psn);
}
inline Pkt write_first(int32_t psn) {
  return packet(wire::Operation::write_first, psn);
}
inline Pkt write_middle(int32_t psn) {
  return packet(wire::Operation::write_middle, psn);
}
inline Pkt write_last(int32_t psn) {
  return packet(wire::Operation::write_last, psn);
}
inline Pkt write_only(int32_t psn) {
  return packet(wire::Operation::write_only, psn);
}
inline Pkt send_last_imm(int32_t psn, uint32_t imm) {
  return packet(wire::Operation::send_last_imm, psn).imm(imm);
}
inline Pkt send_only_imm(int32_t psn, uint32_t imm) {
  return packet(wire::Operation::send_only_imm, psn).imm(imm);
}
inline Pkt write_last_imm(int32_t psn, uint32_t imm) {
  return packet(wire::Operation::write_last_imm, psn).imm(imm);
}
inline Pkt write_only_imm(int32_t psn, uint32_t imm) {
  return packet(wire::Operation::write_only_imm, psn).imm(imm);
}
inline Pkt send_last_inv(int32_t psn, uint32_t rkey) {
  return packet(wire::Operation::send_last_inv, psn).ieth(rkey);
}
inline Pkt send_only_inv(int32_t psn, uint32_t rkey) {
  return packet(wire::Operation::send_only_inv, psn).ieth(rkey);
}
inline Pkt atomic_write(int32_t psn) {
  return packet(wire::Operation::atomic_write, psn);
}
inline Pkt flush(int32_t psn) {
  return packet(wire::Operation::flush, psn).feth(1, 0);
}
inline Pkt read_request(int32_t psn) {
  return packet(wire::Operation::read_request, psn);
}
inline Pkt cmp_swap(int32_t psn) {
  return packet(wire::Operation::cmp_swap, psn);
}
inline Pkt fetch_add(int32_t psn) {
  return packet(wire::Operation::fetch_add, psn);
}

// --- responses

inline Pkt response(wire::Operation op, int32_t psn, uint32_t msn) {
  Pkt p = packet(op, psn);
  p.fields.aeth = {wire::kSyndromeAck, msn};
  return p;
}
/// An ACKNOWLEDGE with any syndrome.
inline Pkt acknowledge(int32_t psn, uint32_t msn, uint8_t syndrome) {
  Pkt p = response(wire::Operation::acknowledge, psn, msn);
  p.fields.aeth.syndrome = syndrome;
  return p;
}
inline Pkt ack(int32_t psn, uint32_t msn) {
  return response(wire::Operation::acknowledge, psn, msn);
}
inline Pkt nak(int32_t psn, uint32_t msn, wire::NakCode code) {
  return acknowledge(psn, msn, wire::nak_syndrome(code));
}
inline Pkt nak_sequence(int32_t psn, uint32_t msn) {
  return nak(psn, msn, wire::NakCode::psn_sequence_error);
}
inline Pkt nak_invalid(int32_t psn, uint32_t msn) {
  return nak(psn, msn, wire::NakCode::invalid_request);
}
inline Pkt nak_access(int32_t psn, uint32_t msn) {
  return nak(psn, msn, wire::NakCode::remote_access_error);
}
inline Pkt nak_operational(int32_t psn, uint32_t msn) {
  return nak(psn, msn, wire::NakCode::remote_operational_error);
}
inline Pkt rnr_nak(int32_t psn, uint32_t msn, uint8_t timer) {
  return acknowledge(psn, msn, wire::rnr_syndrome(timer));
}
inline Pkt read_first(int32_t psn, uint32_t msn) {
  return response(wire::Operation::read_response_first, psn, msn);
}
inline Pkt read_middle(int32_t psn) {
  return packet(wire::Operation::read_response_middle, psn);
}
inline Pkt read_last(int32_t psn, uint32_t msn) {
  return response(wire::Operation::read_response_last, psn, msn);
}
inline Pkt read_only(int32_t psn, uint32_t msn) {
  return response(wire::Operation::read_response_only, psn, msn);
}
inline Pkt atomic_ack(int32_t psn, uint32_t msn, uint64_t original) {
  Pkt p = response(wire::Operation::atomic_acknowledge, psn, msn);
  p.fields.atomic_ack_eth.original = original;
  return p;
}

}  // namespace roce::script
