// Requests, completions and the set-up in words.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/swarm/script_words.h"

#include <string_view>

#include "script/words.h"

namespace roce::swarm {
namespace {

std::string call(std::string_view name, uint64_t value) {
  return std::string(name) + "(" + std::to_string(value) + ")";
}

std::string_view builder_of(Op op) {
  switch (op) {
    case Op::send:
      return "wr_send";
    case Op::send_imm:
      return "wr_send_imm";
    case Op::write:
      return "wr_write";
    case Op::write_imm:
      return "wr_write_imm";
    case Op::read:
      return "wr_read";
    case Op::fetch_add:
      return "wr_fetch_add";
    case Op::swap:
      return "wr_cmp_swap";
    default:
      return {};
  }
}

std::string flags_of(unsigned flags) {
  std::string out;
  out += (flags & IBV_SEND_SIGNALED) != 0 ? ".signaled()" : "";
  out += (flags & IBV_SEND_FENCE) != 0 ? ".fence()" : "";
  out += (flags & IBV_SEND_SOLICITED) != 0 ? ".solicited()" : "";
  out += (flags & IBV_SEND_INLINE) != 0 ? ".inlined()" : "";
  return out;
}

std::string_view name_of(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_LOC_LEN_ERR:
      return "IBV_WC_LOC_LEN_ERR";
    case IBV_WC_LOC_PROT_ERR:
      return "IBV_WC_LOC_PROT_ERR";
    case IBV_WC_BAD_RESP_ERR:
      return "IBV_WC_BAD_RESP_ERR";
    case IBV_WC_REM_INV_REQ_ERR:
      return "IBV_WC_REM_INV_REQ_ERR";
    case IBV_WC_REM_ACCESS_ERR:
      return "IBV_WC_REM_ACCESS_ERR";
    case IBV_WC_REM_OP_ERR:
      return "IBV_WC_REM_OP_ERR";
    case IBV_WC_RETRY_EXC_ERR:
      return "IBV_WC_RETRY_EXC_ERR";
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return "IBV_WC_RNR_RETRY_EXC_ERR";
    default:
      return "IBV_WC_GENERAL_ERR";
  }
}

std::string_view name_of(ibv_wc_opcode opcode) {
  switch (opcode) {
    case IBV_WC_RDMA_WRITE:
      return "IBV_WC_RDMA_WRITE";
    case IBV_WC_RDMA_READ:
      return "IBV_WC_RDMA_READ";
    case IBV_WC_COMP_SWAP:
      return "IBV_WC_COMP_SWAP";
    case IBV_WC_FETCH_ADD:
      return "IBV_WC_FETCH_ADD";
    case IBV_WC_RECV_RDMA_WITH_IMM:
      return "IBV_WC_RECV_RDMA_WITH_IMM";
    default:
      return "IBV_WC_SEND";
  }
}

}  // namespace

std::vector<std::string> words_of_setup(const Options& options, const End& end, const Connection& c,
                                        uint32_t own_psn, uint32_t peer_psn) {
  const auto number = [](auto value) { return std::to_string(value); };
  const std::string pieces = number(kMaxPieces);
  return {
      "connect({.pmtu = IBV_MTU_" + number(128u << c.pmtu) + ",",
      "         .timeout = " + number(options.timeout) + ",",
      "         .retry_cnt = " + number(options.retry_cnt) + ",",
      "         .rnr_retry = " + number(options.rnr_retry) + ",",
      "         .min_rnr_timer = " + number(options.min_rnr_timer) + ",",
      "         .rd_atomic = " + number(options.rd_atomic) + ",",
      "         .dest_rd_atomic = " + number(options.rd_atomic) + ",",
      "         .cap = {" + number(options.depth * 2 + 2) + ", " + number(options.depth) + ", " +
          pieces + ", " + pieces + ", 64},",
      std::string("         .signal_all = ") + (end.signal_all ? "true" : "false") + ",",
      std::string("         .ipv6 = ") + (c.ipv6 ? "true" : "false") + ",",
      "         .window = " + number(options.window_packets) + ",",
      "         .held = " + number(options.held_packets) + ",",
      "         .first_psns = FirstPsns{" + script::hex(peer_psn) + ", " + script::hex(own_psn) +
          "}});",
  };
}

std::string words_of_request(const ibv_send_wr& wr, const SendRecord& record) {
  const std::string_view builder = builder_of(record.op);
  if (builder.empty()) {
    return {};
  }
  std::string out = call(builder, record.id);
  for (size_t i = 0; i < record.pieces.count; ++i) {
    const Range& piece = record.pieces.at[i];
    out += ".from(" + std::to_string(piece.begin) + ", " + std::to_string(piece.size) + ")";
  }
  if (is_atomic(record.op)) {
    out += ".atomic(" + script::hex(wr.wr.atomic.remote_addr) + ", " +
           script::hex(wr.wr.atomic.rkey) + ", " + script::hex(wr.wr.atomic.compare_add) + ", " +
           script::hex(wr.wr.atomic.swap) + ")";
  } else if (is_write(record.op) || record.op == Op::read) {
    out += ".remote(" + script::hex(wr.wr.rdma.remote_addr) + ", " + script::hex(wr.wr.rdma.rkey) +
           ")";
  }
  if (record.op == Op::send_imm || record.op == Op::write_imm) {
    out += ".imm(" + script::hex(__builtin_bswap32(wr.imm_data)) + ")";
  }
  return out + flags_of(wr.send_flags);
}

std::string words_of_state(ibv_qp_state state) {
  switch (state) {
    case IBV_QPS_SQD:
      return "IBV_QPS_SQD";
    case IBV_QPS_RTS:
      return "IBV_QPS_RTS";
    default:
      return "IBV_QPS_ERR";
  }
}

std::string words_of_completion(const ibv_wc& wc) {
  const std::string id = std::to_string(wc.wr_id);
  if (wc.status == IBV_WC_WR_FLUSH_ERR) {
    return "flushed(" + id + ")";
  }
  if (wc.status != IBV_WC_SUCCESS) {
    return "failed(" + id + ", " + std::string(name_of(wc.status)) + ")";
  }
  const std::string length = std::to_string(wc.byte_len);
  std::string out = wc.opcode == IBV_WC_RECV
                        ? "received(" + id + ", " + length + ")"
                        : "done(" + id + ", " + std::string(name_of(wc.opcode)) + ")";
  if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
    out += ".len(" + length + ")";
  }
  if ((wc.wc_flags & IBV_WC_WITH_IMM) != 0) {
    out += ".imm(" + script::hex(__builtin_bswap32(wc.imm_data)) + ")";
  }
  return out;
}

}  // namespace roce::swarm
