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

constexpr Words<Transport, 3> kTransports{{"rc", "uc", "ud"}};
constexpr Words<Op, 8> kOps{
    {"send", "send_imm", "send_inv", "write", "write_imm", "read", "fetch_add", "cmp_swap"}};
constexpr Words<Kind, 15> kKinds{{"sizes", "burst", "wrap", "rnr", "rnr_limit", "bad_key",
                                  "bad_range", "mr_right", "qp_right", "too_long", "gone", "srq",
                                  "window", "multicast", "bad_qkey"}};
constexpr Words<Requester, 2> kRequesters{{"uroce", "peer"}};
constexpr std::array<uint32_t, 3> kMtus{256, 1024, 4096};
constexpr std::array<uint32_t, 2> kFamilies{4, 6};
constexpr std::array kRequesterList{Requester::uroce, Requester::peer};

constexpr uint32_t kLarge = (1U << 20U) + 5;
constexpr uint32_t kLargeUnreliable = 65536 + 5;  // a lost packet would be for good
constexpr uint32_t kBurst = 48;
constexpr uint32_t kAtomics = 8;
constexpr uint32_t kAtomicBytes = 8;

/// Adds cells, each with either end as the requester.
class CellList {
 public:
  void add(Cell cell, std::initializer_list<Op> ops) {
    for (cell.op = Op::send; const Op op : ops) {
      cell.op = op;
      for (const Requester requester : kRequesterList) {
        cell.requester = requester;
        cells_.push_back(cell);
      }
    }
  }
  std::vector<Cell> take() { return std::move(cells_); }

 private:
  std::vector<Cell> cells_;
};

void add_data(CellList& list) {
  for (const uint32_t family : kFamilies) {
    for (const uint32_t mtu : kMtus) {
      list.add({.mtu = mtu, .family = family},
               {Op::send, Op::send_imm, Op::write, Op::write_imm, Op::read});
      list.add({.transport = Transport::uc, .mtu = mtu, .family = family},
               {Op::send, Op::send_imm, Op::write, Op::write_imm});
      list.add({.transport = Transport::ud, .mtu = mtu, .family = family},
               {Op::send, Op::send_imm});
    }
    list.add({.family = family}, {Op::fetch_add, Op::cmp_swap});
    list.add({.transport = Transport::ud, .kind = Kind::multicast, .family = family},
             {Op::send, Op::send_imm});
  }
  list.add({.kind = Kind::burst}, {Op::send, Op::send_imm, Op::write, Op::write_imm, Op::read,
                                   Op::fetch_add, Op::cmp_swap});
  list.add({.transport = Transport::uc, .kind = Kind::burst},
           {Op::send, Op::send_imm, Op::write, Op::write_imm});
  list.add({.transport = Transport::ud, .kind = Kind::burst}, {Op::send, Op::send_imm});
  list.add({.kind = Kind::wrap}, {Op::send, Op::write, Op::read, Op::fetch_add});
  list.add({.transport = Transport::uc, .kind = Kind::wrap}, {Op::send, Op::write});
  list.add({.kind = Kind::srq}, {Op::send, Op::send_imm, Op::write_imm});
  list.add({.transport = Transport::ud, .kind = Kind::srq}, {Op::send});
  list.add({.kind = Kind::window}, {Op::send_inv, Op::write, Op::read, Op::fetch_add});
}

void add_errors(CellList& list) {
  list.add({.kind = Kind::rnr}, {Op::send, Op::send_imm, Op::write_imm});
  list.add({.kind = Kind::rnr_limit}, {Op::send});
  for (const Kind kind : {Kind::bad_key, Kind::bad_range, Kind::mr_right, Kind::qp_right}) {
    list.add({.kind = kind}, {Op::write, Op::read, Op::fetch_add});
  }
  list.add({.kind = Kind::too_long}, {Op::send, Op::send_imm});
  list.add({.kind = Kind::gone}, {Op::send, Op::read});
  list.add({.transport = Transport::ud, .kind = Kind::bad_qkey}, {Op::send});
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
  CellList list;
  add_data(list);
  add_errors(list);
  return list.take();
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
  return op == Op::send || op == Op::send_imm || op == Op::send_inv || op == Op::write_imm;
}

bool has_immediate(Op op) {
  return op == Op::send_imm || op == Op::write_imm;
}

ibv_wr_opcode opcode_of(Op op) {
  constexpr std::array kOpcodes{IBV_WR_SEND,
                                IBV_WR_SEND_WITH_IMM,
                                IBV_WR_SEND_WITH_INV,
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
  std::vector<uint32_t> sizes{0, 1, 3, cell.mtu - 1, cell.mtu};
  if (cell.transport != Transport::ud) {
    sizes.insert(sizes.end(),
                 {cell.mtu + 1, cell.transport == Transport::rc ? kLarge : kLargeUnreliable});
  }
  return sizes;
}

std::vector<uint32_t> burst_of(const Cell& cell) {
  if (is_atomic(cell.op)) {
    return std::vector<uint32_t>(kBurst, kAtomicBytes);
  }
  const uint32_t packets = cell.transport == Transport::ud ? 0 : 1;
  const std::array<uint32_t, 6> mix{64, cell.mtu,     packets * 3 * cell.mtu + 7,
                                    0,  cell.mtu - 1, (1 + packets) * cell.mtu};
  std::vector<uint32_t> sizes;
  for (uint32_t i = 0; i < kBurst; ++i) {
    sizes.push_back(mix[i % mix.size()]);
  }
  return sizes;
}

}  // namespace uroce::rxe
