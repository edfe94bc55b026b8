// Pairs: everything that verbs_threads creates: the device, one memory region, and per thread and
// once for all a queue pair with its completion queue. An error ends the program.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include <infiniband/verbs.h>

#include "memory.h"
#include "peer_link.h"

namespace dropin {

/// A queue pair with its completion queue.
struct Pair {
  ibv_comp_channel* channel = nullptr;  // or none
  ibv_cq* cq = nullptr;
  ibv_qp* qp = nullptr;
};

/// What one end tells the other.
struct Hello {
  ibv_gid gid{};
  uint64_t base = 0;
  uint32_t rkey = 0;
  std::array<uint32_t, kThreads + 1> qpns{};  // the last one is the shared pair's
};

inline constexpr uint32_t kSendsARound = 4;

class Pairs {
 public:
  Pairs(Arena& arena, uint8_t gid_index);
  ~Pairs();
  Pairs(const Pairs&) = delete;
  Pairs& operator=(const Pairs&) = delete;

  /// Connects every pair to the peer's of the same place.
  void meet(PeerLink& link);

  const Pair& shared() const { return pairs_.back(); }
  const Pair& own(uint32_t thread) const { return pairs_[thread]; }
  const Pair& over(Over over, uint32_t thread) const {
    return over == Over::own ? own(thread) : shared();
  }

  /// Thread: any, as for the verbs.
  void post_receive(const Pair& pair, Message to, uint64_t wr_id);
  /// Signalled. `request` names what is asked for, and what of the peer it is about.
  void post_send(const Pair& pair, ibv_send_wr request, Message message, uint32_t length = kBytes);
  /// The peer's memory at an offset of its arena, and its key.
  uint64_t peer_address(uint64_t offset) const { return peer_.base + offset; }
  uint32_t peer_key() const { return peer_.rkey; }

 private:
  Pair make_pair(uint32_t sends, uint32_t receives, bool with_channel);
  void connect(ibv_qp& qp, uint32_t peer) const;

  Arena& arena_;
  uint8_t gid_index_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_mr* mr_ = nullptr;
  std::array<Pair, kThreads + 1> pairs_{};
  Hello peer_;
};

}  // namespace dropin
