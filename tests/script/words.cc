// Fields, one after the other, as (name, text): what is printed and what is compared are the same.
// SPDX-License-Identifier: BSD-3-Clause
#include "script/words.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include <roce/verbs.h>

#include "wire/syndrome.h"

namespace roce::script {
namespace {

using Row = std::pair<std::string, std::string>;
using Rows = std::vector<Row>;

constexpr std::array<const char*, 32> kOperationNames = {"SEND_FIRST",
                                                         "SEND_MIDDLE",
                                                         "SEND_LAST",
                                                         "SEND_LAST_IMM",
                                                         "SEND_ONLY",
                                                         "SEND_ONLY_IMM",
                                                         "WRITE_FIRST",
                                                         "WRITE_MIDDLE",
                                                         "WRITE_LAST",
                                                         "WRITE_LAST_IMM",
                                                         "WRITE_ONLY",
                                                         "WRITE_ONLY_IMM",
                                                         "READ_REQUEST",
                                                         "READ_RESP_FIRST",
                                                         "READ_RESP_MIDDLE",
                                                         "READ_RESP_LAST",
                                                         "READ_RESP_ONLY",
                                                         "ACKNOWLEDGE",
                                                         "ATOMIC_ACKNOWLEDGE",
                                                         "CMP_SWAP",
                                                         "FETCH_ADD",
                                                         "",
                                                         "SEND_LAST_INV",
                                                         "SEND_ONLY_INV",
                                                         "",
                                                         "",
                                                         "",
                                                         "",
                                                         "FLUSH",
                                                         "ATOMIC_WRITE",
                                                         "",
                                                         ""};
constexpr std::array<const char*, 8> kTransportNames = {"RC", "UC", "RD", "UD", "CNP", "", "", ""};

template <class Range>
std::string hex_bytes(const Range& bytes, size_t limit = 64) {
  std::string out;
  char two[3];
  for (size_t i = 0; i < std::min(bytes.size(), limit); ++i) {
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(bytes[i]));
    out += two;
  }
  return bytes.size() > limit ? out + "..." : out;
}

std::string syndrome_in_words(uint8_t syndrome) {
  const std::string code = std::to_string(wire::code_of(syndrome));
  switch (wire::kind_of(syndrome)) {
    case wire::AckKind::ack:
      return hex(syndrome, 2) + " (ACK, credits " + code + ")";
    case wire::AckKind::rnr_nak:
      return hex(syndrome, 2) + " (RNR NAK, timer " + code + ")";
    case wire::AckKind::nak:
      return hex(syndrome, 2) + " (NAK, code " + code + ")";
    case wire::AckKind::reserved:
      break;
  }
  return hex(syndrome, 2) + " (reserved)";
}

void add_network_rows(Rows& rows, const wire::Fields& f) {
  rows.emplace_back("Ethernet destination", hex_bytes(f.ethernet.destination.bytes));
  rows.emplace_back("Ethernet source", hex_bytes(f.ethernet.source.bytes));
  rows.emplace_back("EtherType", hex(f.ethernet.ethertype, 4));
  rows.emplace_back("VLAN", f.vlan ? std::to_string(f.vlan->id) + " priority " +
                                         std::to_string(f.vlan->priority) + " type " +
                                         hex(f.vlan->ethertype, 4)
                                   : "none");
  if (const auto* v6 = std::get_if<wire::Ipv6Header>(&f.ip)) {
    rows.emplace_back("IPv6 traffic class", hex(v6->traffic_class, 2));
    rows.emplace_back("IPv6 flow label", hex(v6->flow_label, 5));
    rows.emplace_back("IPv6 payload length", std::to_string(v6->payload_length));
    rows.emplace_back("IPv6 next header", std::to_string(v6->next_header));
    rows.emplace_back("IPv6 hop limit", std::to_string(v6->hop_limit));
    rows.emplace_back("IPv6 source", hex_bytes(v6->source.bytes));
    rows.emplace_back("IPv6 destination", hex_bytes(v6->destination.bytes));
  } else {
    const auto& v4 = std::get<wire::Ipv4Header>(f.ip);
    rows.emplace_back("IPv4 ToS", hex(v4.tos, 2));
    rows.emplace_back("IPv4 total length", std::to_string(v4.total_length));
    rows.emplace_back("IPv4 identification", std::to_string(v4.identification));
    rows.emplace_back("IPv4 flags and offset", hex(v4.flags_and_offset, 4));
    rows.emplace_back("IPv4 TTL", std::to_string(v4.ttl));
    rows.emplace_back("IPv4 protocol", std::to_string(v4.protocol));
    rows.emplace_back("IPv4 checksum", hex(v4.checksum, 4));
    rows.emplace_back("IPv4 source", hex_bytes(v4.source.bytes));
    rows.emplace_back("IPv4 destination", hex_bytes(v4.destination.bytes));
  }
  rows.emplace_back("UDP source port", hex(f.udp.source_port, 4));
  rows.emplace_back("UDP destination port", std::to_string(f.udp.destination_port));
  rows.emplace_back("UDP length", std::to_string(f.udp.length));
  rows.emplace_back("UDP checksum", hex(f.udp.checksum, 4));
}

void add_bth_rows(Rows& rows, const wire::Bth& bth) {
  rows.emplace_back("opcode", opcode_name(bth.opcode));
  rows.emplace_back("solicited event", std::to_string(bth.solicited));
  rows.emplace_back("MigReq", std::to_string(bth.mig_req));
  rows.emplace_back("pad count", std::to_string(bth.pad_count));
  rows.emplace_back("TVer", std::to_string(bth.transport_version));
  rows.emplace_back("P_Key", hex(bth.pkey, 4));
  rows.emplace_back("FECN", std::to_string(bth.fecn));
  rows.emplace_back("BECN", std::to_string(bth.becn));
  rows.emplace_back("reserved 6", std::to_string(bth.reserved6));
  rows.emplace_back("destination QP", hex(bth.dest_qp, 6));
  rows.emplace_back("AckReq", std::to_string(bth.ack_req));
  rows.emplace_back("reserved 7", std::to_string(bth.reserved7));
  rows.emplace_back("PSN", hex(bth.psn.value(), 6));
}

void add_extension_rows(Rows& rows, const wire::Fields& f) {
  const wire::OpcodeInfo& info = wire::kOpcodes[f.bth.opcode];
  if (info.deth) {
    rows.emplace_back("DETH Q_Key", hex(f.deth.qkey, 8));
    rows.emplace_back("DETH source QP", hex(f.deth.src_qp, 6));
  }
  if (info.feth) {
    rows.emplace_back("FETH placement", std::to_string(f.feth.placement));
    rows.emplace_back("FETH selectivity", std::to_string(f.feth.selectivity));
  }
  if (info.reth) {
    rows.emplace_back("RETH address", hex(f.reth.va));
    rows.emplace_back("RETH rkey", hex(f.reth.rkey, 8));
    rows.emplace_back("RETH length", std::to_string(f.reth.dma_length));
  }
  if (info.aeth) {
    rows.emplace_back("AETH syndrome", syndrome_in_words(f.aeth.syndrome));
    rows.emplace_back("AETH MSN", std::to_string(f.aeth.msn));
  }
  if (info.atomic_eth) {
    rows.emplace_back("AtomicETH address", hex(f.atomic_eth.va));
    rows.emplace_back("AtomicETH rkey", hex(f.atomic_eth.rkey, 8));
    rows.emplace_back("AtomicETH swap or add", hex(f.atomic_eth.swap_or_add));
    rows.emplace_back("AtomicETH compare", hex(f.atomic_eth.compare));
  }
  if (info.atomic_ack_eth) {
    rows.emplace_back("AtomicAckETH original", hex(f.atomic_ack_eth.original));
  }
  if (info.imm) {
    rows.emplace_back("immediate", hex(f.imm.data, 8));
  }
  if (info.ieth) {
    rows.emplace_back("IETH rkey", hex(f.ieth.rkey, 8));
  }
}

Rows rows_of(const wire::Fields& f) {
  Rows rows;
  add_network_rows(rows, f);
  add_bth_rows(rows, f.bth);
  add_extension_rows(rows, f);
  rows.emplace_back("payload length", std::to_string(f.payload.size()));
  rows.emplace_back("payload", hex_bytes(f.payload, f.payload.size()));
  rows.emplace_back("pad", hex_bytes(f.pad));
  rows.emplace_back("ICRC", hex(f.icrc, 8));
  return rows;
}

std::string shortened(const std::string& text) {
  constexpr size_t kLimit = 80;
  return text.size() > kLimit ? text.substr(0, kLimit) + "..." : text;
}

}  // namespace

std::string hex(uint64_t value, int digits) {
  char text[20];
  std::snprintf(text, sizeof text, "0x%0*llx", digits, static_cast<unsigned long long>(value));
  return text;
}

std::string opcode_name(uint8_t opcode) {
  const char* const name = kOperationNames[opcode & 0x1f];
  if (!wire::kOpcodes[opcode].known || name[0] == '\0') {
    return "opcode " + hex(opcode, 2);
  }
  return std::string(kTransportNames[opcode >> 5]) + " " + name;
}

std::string in_words(const wire::Fields& f) {
  std::string out = opcode_name(f.bth.opcode) + " PSN " + hex(f.bth.psn.value(), 6) + " to QP " +
                    hex(f.bth.dest_qp, 6);
  out += f.bth.ack_req ? ", AckReq" : "";
  out += f.bth.solicited ? ", solicited" : "";
  Rows rows;
  add_extension_rows(rows, f);
  for (const auto& [name, text] : rows) {
    out.append(", ").append(name).append(" ").append(text);
  }
  return out + ", " + std::to_string(f.payload.size()) + " bytes";
}

std::string in_hex(const std::vector<uint8_t>& bytes) {
  return hex_bytes(bytes, bytes.size());
}

std::string in_words(const ibv_wc& wc) {
  std::string out = "wr_id " + std::to_string(wc.wr_id) + " " +
                    std::string(verbs::wc_status_name(wc.status)) + ", opcode " +
                    std::to_string(wc.opcode) + ", byte_len " + std::to_string(wc.byte_len) +
                    ", flags " + hex(wc.wc_flags) + ", vendor_err " + hex(wc.vendor_err);
  if ((wc.wc_flags & IBV_WC_WITH_IMM) != 0) {
    out += ", imm " + hex(wc.imm_data, 8);
  }
  return out + ", QP " + hex(wc.qp_num, 6);
}

std::string event_name(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_CQ_ERR:
      return "CQ_ERR";
    case IBV_EVENT_QP_FATAL:
      return "QP_FATAL";
    case IBV_EVENT_QP_REQ_ERR:
      return "QP_REQ_ERR";
    case IBV_EVENT_QP_ACCESS_ERR:
      return "QP_ACCESS_ERR";
    case IBV_EVENT_COMM_EST:
      return "COMM_EST";
    case IBV_EVENT_SQ_DRAINED:
      return "SQ_DRAINED";
    case IBV_EVENT_SRQ_ERR:
      return "SRQ_ERR";
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return "SRQ_LIMIT_REACHED";
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return "QP_LAST_WQE_REACHED";
    default:
      return "event " + std::to_string(type);
  }
}

std::string differences(const wire::Fields& expected, const wire::Fields& seen) {
  const Rows want = rows_of(expected);
  const Rows have = rows_of(seen);
  std::string out;
  const auto find = [](const Rows& rows, const std::string& name) {
    return std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.first == name; });
  };
  for (const auto& [name, text] : want) {
    const auto found = find(have, name);
    const std::string other = found == have.end() ? "no such field" : found->second;
    if (other != text) {
      out += "    " + name + ": expected " + shortened(text) + ", seen " + shortened(other) + "\n";
    }
  }
  for (const auto& [name, text] : have) {
    if (find(want, name) == want.end()) {
      out += "    " + name + ": not expected, seen " + shortened(text) + "\n";
    }
  }
  return out;
}

}  // namespace roce::script
