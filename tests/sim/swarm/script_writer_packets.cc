// Packets as the scripts name them. What the peer sends holds some pattern; what the device sends
// holds what its memory holds.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>

#include "base/psn.h"
#include "script/words.h"
#include "sim/swarm/script_words.h"
#include "sim/swarm/script_writer.h"
#include "wire/opcode.h"
#include "wire/syndrome.h"

namespace roce::swarm {
namespace {

constexpr size_t kScriptMemory = size_t{64} * 1024;  // script::Script::kMemory

using wire::Operation;

struct Builder {
  Operation operation;
  const char* name;
};

constexpr std::array<Builder, 15> kBuilders = {{
    {Operation::send_first, "send_first"},
    {Operation::send_middle, "send_middle"},
    {Operation::send_last, "send_last"},
    {Operation::send_last_imm, "send_last_imm"},
    {Operation::send_only, "send_only"},
    {Operation::send_only_imm, "send_only_imm"},
    {Operation::write_first, "write_first"},
    {Operation::write_middle, "write_middle"},
    {Operation::write_last, "write_last"},
    {Operation::write_last_imm, "write_last_imm"},
    {Operation::write_only, "write_only"},
    {Operation::write_only_imm, "write_only_imm"},
    {Operation::read_request, "read_request"},
    {Operation::cmp_swap, "cmp_swap"},
    {Operation::fetch_add, "fetch_add"},
}};

constexpr std::array<Builder, 4> kResponses = {{
    {Operation::read_response_first, "read_first"},
    {Operation::read_response_middle, "read_middle"},
    {Operation::read_response_last, "read_last"},
    {Operation::read_response_only, "read_only"},
}};

template <size_t N>
std::string name_in(const std::array<Builder, N>& builders, Operation operation) {
  const auto at = std::find_if(builders.begin(), builders.end(),
                               [&](const Builder& b) { return b.operation == operation; });
  return at == builders.end() ? "" : at->name;
}

std::string acknowledgement(int32_t psn, const wire::Aeth& aeth) {
  const std::string numbers = std::to_string(psn) + ", " + std::to_string(aeth.msn);
  if (aeth.syndrome == wire::kSyndromeAck) {
    return "ack(" + numbers + ")";
  }
  if (aeth.syndrome == wire::nak_syndrome(wire::NakCode::psn_sequence_error)) {
    return "nak_sequence(" + numbers + ")";
  }
  return "acknowledge(" + numbers + ", " + script::hex(aeth.syndrome) + ")";
}

}  // namespace

/// As scripts count: a response from the first request of the other direction.
int32_t ScriptWriter::psn_of(const wire::Fields& f, bool sent) const {
  const bool response = wire::kOpcodes[f.bth.opcode].verb == wire::Verb::response;
  return f.bth.psn.since(Psn(sent != response ? own_psn_ : peer_psn_));
}

std::string ScriptWriter::packet(const wire::Fields& f, bool sent) {
  if (wire::transport_of(f.bth.opcode) != wire::Transport::rc) {
    refuse("a packet of another transport than RC");
    return {};
  }
  std::string out = name_of_packet(f, sent) + headers(f, sent) + payload(f, sent);
  out += f.bth.ack_req ? ".ack_req()" : "";
  return out + (f.bth.solicited ? ".solicited()" : "");
}

std::string ScriptWriter::name_of_packet(const wire::Fields& f, bool sent) {
  const Operation operation = wire::operation_of(f.bth.opcode);
  const int32_t psn = psn_of(f, sent);
  const std::string number = std::to_string(psn);
  const std::string msn = ", " + std::to_string(f.aeth.msn);
  if (operation == Operation::acknowledge) {
    return acknowledgement(psn, f.aeth);
  }
  if (operation == Operation::atomic_acknowledge) {
    return "atomic_ack(" + number + msn + ", " + script::hex(f.atomic_ack_eth.original) + ")";
  }
  if (const std::string name = name_in(kResponses, operation); !name.empty()) {
    const bool has_aeth = wire::kOpcodes[f.bth.opcode].aeth;
    return name + "(" + number + (has_aeth ? msn : "") + ")";
  }
  const std::string name = name_in(kBuilders, operation);
  if (name.empty()) {
    refuse("a packet with opcode " + script::hex(f.bth.opcode));
  }
  const bool imm = wire::kOpcodes[f.bth.opcode].imm;
  return name + "(" + number + (imm ? ", " + script::hex(f.imm.data) : "") + ")";
}

/// In the end's own memory. Refused elsewhere: all of the script's memory may be written.
std::string ScriptWriter::place(uint64_t va) {
  const uint64_t in_window = va - window_va_;
  if (in_window < end_->window.size || (in_window == end_->window.size)) {
    return "at(" + offset(window_begin_ + in_window, 0) + ")";
  }
  if (va - kWordsVa < kWords * sizeof(uint64_t)) {
    return "at(" + offset(va - kWordsVa, 0) + ")";
  }
  refuse("a request for memory outside of the window");
  return {};
}

std::string ScriptWriter::offset(size_t begin, size_t size) {
  if (begin + size >= kScriptMemory) {
    refuse("it needs more than the 64 KiB of memory that a script has");
  }
  return std::to_string(begin);
}

std::string ScriptWriter::headers(const wire::Fields& f, bool sent) {
  const wire::OpcodeInfo& info = wire::kOpcodes[f.bth.opcode];
  const auto where = [&](uint64_t va, uint32_t rkey) {
    if (sent) {
      return script::hex(va) + ", " + script::hex(rkey);
    }
    if (rkey != rkeys_[0] && rkey != rkeys_[1]) {
      refuse("a request with a key that is not the window's");
    }
    return place(va) + ", rkey()";
  };
  if (info.reth) {
    if (!sent && info.verb == wire::Verb::read) {
      const size_t n = f.reth.dma_length;
      Span asked{f.bth.psn.value(),
                 static_cast<uint32_t>(std::max<size_t>((n + pmtu_ - 1) / pmtu_, 1)),
                 {}};
      asked.pieces.at[0] = {window_begin_ + (f.reth.va - window_va_), n};
      asked.pieces.count = 1;
      asked_for_.push_back(asked);
    }
    return ".reth(" + where(f.reth.va, f.reth.rkey) + ", " + std::to_string(f.reth.dma_length) +
           ")";
  }
  if (info.atomic_eth) {
    return ".atomic(" + where(f.atomic_eth.va, f.atomic_eth.rkey) + ", " +
           script::hex(f.atomic_eth.swap_or_add) + ", " + script::hex(f.atomic_eth.compare) + ")";
  }
  return {};
}

std::string ScriptWriter::payload(const wire::Fields& f, bool sent) {
  const size_t n = f.payload.size();
  if (n == 0) {
    return {};
  }
  const uint32_t psn = f.bth.psn.value();
  if (sent) {
    const bool response = wire::kOpcodes[f.bth.opcode].verb == wire::Verb::response;
    return own_payload(psn, response ? asked_for_ : posted_, n);
  }
  return ".data(" + std::to_string(n) + ", " + std::to_string(psn % 200 + 1) + ")";
}

/// The bytes of a packet that the device sends, as parts of its memory; the newest request that has
/// this PSN counts.
std::string ScriptWriter::own_payload(uint32_t psn, const std::deque<Span>& spans, size_t n) {
  const auto of = std::find_if(spans.rbegin(), spans.rend(), [psn](const Span& s) {
    return ((psn - s.psn) & kPsnMask) < s.packets;
  });
  if (of == spans.rend()) {
    refuse("a packet that belongs to no request");
    return {};
  }
  size_t skip = ((psn - of->psn) & kPsnMask) * pmtu_;
  std::vector<std::string> parts;
  for (size_t i = 0; i < of->pieces.count && n > 0; ++i) {
    const Range& piece = of->pieces.at[i];
    const size_t passed = std::min(skip, piece.size);
    const size_t size = std::min(piece.size - passed, n);
    if (size > 0) {
      parts.push_back("memory(" + offset(piece.begin + passed, size) + ", " + std::to_string(size) +
                      ")");
    }
    skip -= passed;
    n -= size;
  }
  std::string out;
  for (const std::string& part : parts) {
    out += (out.empty() ? "" : ", ") + part;
  }
  return parts.size() == 1 ? ".bytes(" + out + ")" : ".bytes(joined({" + out + "}))";
}

}  // namespace roce::swarm
