// The words of cells, and the list of them.
// SPDX-License-Identifier: BSD-3-Clause
#include "cell.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <regex>
#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace uroce::rxe {
namespace {

template <class Enum, size_t N>
struct Words {
  std::array<std::string_view, N> words;

  std::string_view of(Enum value) const { return words[static_cast<size_t>(value)]; }
  std::optional<Enum> parse(std::string_view word) const {
    const auto at = std::find(words.begin(), words.end(), word);
    return at == words.end() ? std::nullopt : std::optional(static_cast<Enum>(at - words.begin()));
  }
};

constexpr Words<Transport, 1> kTransports{{"rc"}};
constexpr Words<Op, 7> kOps{
    {"send", "send_imm", "write", "write_imm", "read", "fetch_add", "cmp_swap"}};
constexpr Words<Kind, 11> kKinds{{"sizes", "burst", "wrap", "rnr", "rnr_limit", "bad_key",
                                  "bad_range", "mr_right", "qp_right", "too_long", "gone"}};
constexpr Words<Requester, 2> kRequesters{{"uroce", "peer"}};
constexpr std::array<uint32_t, 3> kMtus{256, 1024, 4096};
constexpr std::array kRequesterList{Requester::uroce, Requester::peer};

constexpr uint32_t kLarge = (1U << 20U) + 5;
constexpr uint32_t kBurst = 48;
constexpr uint32_t kAtomics = 8;
constexpr uint32_t kAtomicBytes = 8;

void add(std::vector<Cell>& cells, Kind kind, std::initializer_list<Op> ops, uint32_t mtu = 1024,
         uint32_t family = 4) {
  for (const Op op : ops) {
    for (const Requester requester : kRequesterList) {
      cells.push_back(
          {.op = op, .kind = kind, .mtu = mtu, .family = family, .requester = requester});
    }
  }
}

}  // namespace

std::string text_of(const Cell& cell) {
  return fmt::format("{} {} {} {} ipv{} {}", kTransports.of(cell.transport), kOps.of(cell.op),
                     kKinds.of(cell.kind), cell.mtu, cell.family, kRequesters.of(cell.requester));
}

roce::Result<Cell> parse_cell(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::string transport;
  std::string op;
  std::string kind;
  std::string family;
  std::string requester;
  uint32_t mtu = 0;
  words >> transport >> op >> kind >> mtu >> family >> requester;
  const auto known_transport = kTransports.parse(transport);
  const auto known_op = kOps.parse(op);
  const auto known_kind = kKinds.parse(kind);
  const auto known_requester = kRequesters.parse(requester);
  if (words.fail() || !known_transport || !known_op || !known_kind || !known_requester ||
      std::find(kMtus.begin(), kMtus.end(), mtu) == kMtus.end() ||
      (family != "ipv4" && family != "ipv6")) {
    return roce::failure(EPROTO, fmt::format("'{}' is no cell of the matrix; use programs of one "
                                             "version at both ends",
                                             text));
  }
  return Cell{*known_transport,           *known_op,       *known_kind, mtu,
              family == "ipv4" ? 4U : 6U, *known_requester};
}

std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const uint32_t family : {4U, 6U}) {
    for (const uint32_t mtu : kMtus) {
      add(cells, Kind::sizes, {Op::send, Op::send_imm, Op::write, Op::write_imm, Op::read}, mtu,
          family);
    }
    add(cells, Kind::sizes, {Op::fetch_add, Op::cmp_swap}, 1024, family);
  }
  add(cells, Kind::burst,
      {Op::send, Op::send_imm, Op::write, Op::write_imm, Op::read, Op::fetch_add, Op::cmp_swap});
  add(cells, Kind::wrap, {Op::send, Op::write, Op::read, Op::fetch_add});
  add(cells, Kind::rnr, {Op::send, Op::send_imm, Op::write_imm});
  add(cells, Kind::rnr_limit, {Op::send});
  add(cells, Kind::bad_key, {Op::write, Op::read, Op::fetch_add});
  add(cells, Kind::bad_range, {Op::write, Op::read, Op::fetch_add});
  add(cells, Kind::mr_right, {Op::write, Op::read, Op::fetch_add});
  add(cells, Kind::qp_right, {Op::write, Op::read, Op::fetch_add});
  add(cells, Kind::too_long, {Op::send, Op::send_imm});
  add(cells, Kind::gone, {Op::send, Op::read});
  return cells;
}

roce::Result<std::vector<Cell>> matching(std::vector<Cell> cells, const std::string& pattern) {
  try {
    const std::regex wanted(pattern);
    std::erase_if(cells,
                  [&](const Cell& cell) { return !std::regex_search(text_of(cell), wanted); });
  } catch (const std::regex_error& error) {
    return roce::failure(EINVAL,
                         fmt::format("'{}' is no regular expression: {}", pattern, error.what()));
  }
  return cells;
}

bool is_atomic(Op op) {
  return op == Op::fetch_add || op == Op::cmp_swap;
}

bool takes_receive(Op op) {
  return op == Op::send || op == Op::send_imm || op == Op::write_imm;
}

bool has_immediate(Op op) {
  return op == Op::send_imm || op == Op::write_imm;
}

ibv_wr_opcode opcode_of(Op op) {
  constexpr std::array kOpcodes{IBV_WR_SEND,
                                IBV_WR_SEND_WITH_IMM,
                                IBV_WR_RDMA_WRITE,
                                IBV_WR_RDMA_WRITE_WITH_IMM,
                                IBV_WR_RDMA_READ,
                                IBV_WR_ATOMIC_FETCH_AND_ADD,
                                IBV_WR_ATOMIC_CMP_AND_SWP};
  return kOpcodes[static_cast<size_t>(op)];
}

std::vector<uint32_t> sizes_of(const Cell& cell) {
  if (is_atomic(cell.op)) {
    return std::vector<uint32_t>(kAtomics, kAtomicBytes);
  }
  return {0, 1, 3, cell.mtu - 1, cell.mtu, cell.mtu + 1, kLarge};
}

std::vector<uint32_t> burst_of(const Cell& cell) {
  if (is_atomic(cell.op)) {
    return std::vector<uint32_t>(kBurst, kAtomicBytes);
  }
  const std::array<uint32_t, 6> mix{64, cell.mtu, 3 * cell.mtu + 7, 0, 5, 2 * cell.mtu};
  std::vector<uint32_t> sizes;
  for (uint32_t i = 0; i < kBurst; ++i) {
    sizes.push_back(mix[i % mix.size()]);
  }
  return sizes;
}

}  // namespace uroce::rxe
