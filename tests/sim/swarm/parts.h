// The parts of a world: hosts (a process with a device), ends (a queue pair and what its user knows
// of it), and the connections of two ends. Plain data; World moves it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <roce/counters.h>
#include <roce/verbs.h>

#include "base/prng.h"
#include "port/pcap_port.h"
#include "sim/swarm/model.h"
#include "sim/swarm/network.h"
#include "sim/swarm/options.h"

namespace roce::swarm {

inline constexpr size_t kMaxPieces = 4;
inline constexpr size_t kWords = 8;  // 64-bit words at the beginning of a memory, for atomics
inline constexpr size_t kGrh = 40;   // bytes in front of a received datagram
inline constexpr uint64_t kLocalVa = 0x10'0000'0000;  // of a memory, for local use
inline constexpr uint64_t kWordsVa = 0x20'0000'0000;  // of its words, for atomics
inline constexpr uint32_t kQkey = 0x11111111;
inline constexpr uint32_t kGroupQpn = 0xffffff;

/// Parts of a slot that one SGE each covers; there may be gaps between them.
struct Pieces {
  std::array<Range, kMaxPieces> at{};
  size_t count = 0;

  size_t size() const {
    size_t sum = 0;
    for (size_t i = 0; i < count; ++i) {
      sum += at[i].size;
    }
    return sum;
  }
};

enum class Op : uint8_t {
  send,
  send_imm,
  send_inv,
  write,
  write_imm,
  read,
  fetch_add,
  swap,
  atomic_write,
  flush,
  bind,
  invalidate,
};

constexpr const char* name_of(Op op) {
  constexpr std::array<const char*, 12> kNames = {
      "SEND", "SEND with immediate", "SEND with invalidate", "WRITE",        "WRITE with immediate",
      "READ", "FETCH AND ADD",       "COMPARE AND SWAP",     "ATOMIC WRITE", "FLUSH",
      "BIND", "LOCAL INVALIDATE"};
  return kNames[static_cast<size_t>(op)];
}

constexpr bool is_message(Op op) {
  return op == Op::send || op == Op::send_imm || op == Op::send_inv || op == Op::write_imm;
}
constexpr bool is_atomic(Op op) {
  return op == Op::fetch_add || op == Op::swap;
}
constexpr bool takes_data(Op op) {
  return op == Op::read || is_atomic(op);
}
constexpr bool is_write(Op op) {
  return op == Op::write || op == Op::write_imm || op == Op::atomic_write;
}

/// A posted send request.
struct SendRecord {
  uint64_t id = 0;
  Op op = Op::send;
  bool signaled = true;
  bool fence = false;
  bool must_fail = false;  ///< it asks for what the peer does not allow, or names a wrong key
  bool bad_local = false;  ///< its own memory key is wrong
  Range slot;              ///< memory that is its own until it completes
  Pieces pieces;           ///< of the slot
  Effect effect;           ///< of a WRITE, on the peer's memory
  size_t from = 0;         ///< of a READ, in the peer's memory
  uint64_t message = 0;    ///< which of the end's messages
  size_t word = 0;         ///< of an atomic
  WordLog::Operation atomic;
};

struct ReceiveRecord {
  uint64_t id = 0;
  Range slot;
  Pieces pieces;
};

/// What the peer must receive.
struct Message {
  Bytes bytes;
  std::optional<uint32_t> imm;
  std::optional<uint32_t> invalidates;
  bool write = false;
};

enum class WindowState : uint8_t { none, binding, bound, dying, dead };

struct End;

struct SharedReceives {
  static constexpr uint32_t kEntries = 32;

  verbs::Srq srq;
  /// Some of them may have gone: held by a queue pair in the middle of a message, or completed on
  /// one that was destroyed before anybody looked.
  std::deque<ReceiveRecord> posted;
  bool starved = false;  ///< there is no memory for a further one
};

/// A completion queue.
struct CompletionRoom {
  size_t entries = 0;
  bool told = false;       ///< there was a CQ_ERR
  bool overrun = false;    ///< poll has said so
  bool disturbed = false;  ///< since the last look entries were purged, or the size has changed
};

/// A process with a device.
struct Host {
  size_t index = 0;
  SimPort* port = nullptr;
  std::unique_ptr<PcapPort> capture;
  std::unique_ptr<verbs::Device> device;
  std::unique_ptr<Memory> memory;
  std::optional<Space> space;
  std::vector<verbs::Pd> pds;
  std::vector<verbs::Cq> cqs;
  std::vector<CompletionRoom> rooms;  // of the same
  std::vector<verbs::Mr> local;       // a protection domain: all memory, for local use
  std::vector<verbs::Mr> words;       // a protection domain: the words, for atomics
  std::vector<std::unique_ptr<SharedReceives>> shared;  // a protection domain, if at all
  std::map<uint32_t, End*> ends;                        // by QPN
  std::array<WordLog, kWords> log;
  std::array<uint64_t, kWords> word_start{};
  Instant starved_until;
};

struct Connection;

/// A queue pair, its window of memory for the peer, and everything that is under way.
struct End {
  Host* host = nullptr;
  End* peer = nullptr;
  Connection* connection = nullptr;
  ibv_qp_type type = IBV_QPT_RC;
  size_t pd = 0;
  size_t send_cq = 0;
  size_t recv_cq = 0;
  bool signal_all = false;
  SharedReceives* shared = nullptr;
  std::optional<verbs::Qp> qp;
  uint32_t qpn = 0;  ///< also of one that is gone
  std::optional<verbs::Ah> ah;
  std::array<std::optional<verbs::Ah>, kMaxGroups> group_ahs;
  /// When it was attached to each group, on the clock of request ids; 0: it is not.
  std::array<uint64_t, kMaxGroups> joined{};
  std::array<uint64_t, kMaxGroups> left{};  ///< when it was detached last

  Range window;
  uint64_t window_va = 0;
  std::optional<verbs::Mr> mr;
  uint32_t rkey = 0;       ///< also of one that is gone
  bool read_only = false;  ///< the region allows no WRITE any more
  bool disturbed = false;  ///< the peer may be refused the window at any time
  std::optional<verbs::Mw> mw;
  ibv_mw_type mw_type = IBV_MW_TYPE_2;
  WindowState mw_state = WindowState::none;
  uint32_t mw_key = 0;

  std::deque<SendRecord> sends;
  std::deque<ReceiveRecord> receives;
  std::deque<Message> outbox;  ///< RC: not received yet, in order; else all that were ever sent
  std::vector<Effect> ghosts;  ///< WRITEs that may have happened at the peer
  uint64_t messages = 0;
  uint64_t received = 0;
  bool failed = false;      ///< a send request has ended in an error
  bool refused = false;     ///< and it is known that nothing behind it was executed
  bool overrun = false;     ///< completions of it were lost
  bool marker_due = false;  ///< its queue was too full for one so far
  bool erring = false;      ///< its user has moved the queue pair to ERR
  bool gone = false;        ///< the queue pair was reset or destroyed, or its process died
  bool crashed = false;     ///< the latter
  Instant resume_at = kNever;
};

/// A datagram to a multicast group.
struct GroupMessage {
  size_t group = 0;
  uint64_t id = 0;  ///< of the request
  const Host* host = nullptr;
  uint32_t qpn = 0;  ///< the sender's
  Message message;
  std::vector<const End*> receivers;
};

struct Connection {
  enum class Phase : uint8_t { live, closing, closed };

  explicit Connection(uint64_t seed) : prng(seed) {}

  End a;
  End b;
  Prng prng;
  ibv_mtu pmtu = IBV_MTU_1024;
  bool ipv6 = false;
  uint32_t psn[2] = {};
  Phase phase = Phase::live;
  bool broken = false;    ///< an end has seen an error: repaired by a new connection
  bool provoked = false;  ///< somebody did what may break it
  Instant repair_at = kNever;
  Instant closed_by = kNever;  ///< when all must be flushed
};

}  // namespace roce::swarm
