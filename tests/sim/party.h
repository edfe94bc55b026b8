// Party: one side of a seeded run: it posts random requests, checks every completion and every byte
// that arrives, and keeps the model of what its memory must look like in the end.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "sim/sim_pair.h"

namespace roce::sim {

inline constexpr size_t kRegion = 1u << 20;
inline constexpr size_t kHalf = kRegion / 2;  // lower half: peers write; upper half: peers read
inline constexpr size_t kMaxMessage = 20'000;
inline constexpr uint32_t kDepth = 32;

/// One side of the pair: memory, queues, and what the model says about them.
class Party {
 public:
  Party(SimPair& pair, int side, uint64_t seed)
      : side_(side),
        device_(pair.device(side)),
        prng_(seed),
        pd_(*device_.alloc_pd()),
        cq_(*device_.create_cq(4 * kDepth)),
        memory_(kRegion),
        local_(kRegion),
        landing_(kDepth * kMaxMessage),
        region_(*device_.reg_mr(pd_, memory_.data(), memory_.size(), kAll)),
        local_region_(*device_.reg_mr(pd_, local_.data(), local_.size(), kAll)),
        landing_region_(*device_.reg_mr(pd_, landing_.data(), landing_.size(), kAll)),
        qp_(*device_.create_qp(pd_, cq_, cq_, init_attr())) {
    for (uint8_t& b : memory_) {
      b = static_cast<uint8_t>(prng_.next());
    }
    for (uint8_t& b : local_) {
      b = static_cast<uint8_t>(prng_.next());
    }
    model_ = memory_;
  }

  verbs::Qp& qp() { return qp_; }
  /// Everything posted has completed, and nothing more will be posted.
  bool done() const { return (left_ == 0 || gave_up_) && pending_.empty(); }
  /// The transport retry counter ran out, as it may when the wire is bad enough.
  bool gave_up() const { return gave_up_; }
  size_t received() const { return received_; }
  const std::vector<uint8_t>& memory() const { return memory_; }
  const std::vector<uint8_t>& model() const { return model_; }
  const std::string& problem() const { return problem_; }

  void start(Party& peer, size_t operations) {
    peer_ = &peer;
    left_ = operations;
    for (uint32_t i = 0; i < kDepth; ++i) {
      post_receive(i);
    }
  }

  /// Posts what fits and takes what has completed.
  void turn() {
    while (!gave_up_ && left_ > 0 && pending_.size() < kDepth / 2 && peer_->room() > 0) {
      post_operation();
      --left_;
    }
    ibv_wc wc[16];
    const int n = cq_.poll(wc);
    if (n < 0) {
      fail("completion queue overrun");
    }
    for (int i = 0; i < n; ++i) {
      on_completion(wc[i]);
    }
  }

 private:
  static constexpr uint64_t kFirstSendId = 1000;  // above all receive slots
  static constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                              IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

  struct Pending {
    ibv_wr_opcode opcode{};
    size_t offset = 0;              // in local_
    std::vector<uint8_t> expected;  // READ, atomics: what must arrive there
  };
  struct Incoming {
    std::vector<uint8_t> bytes;
    std::optional<uint32_t> imm;
    bool write = false;
  };

  static ibv_qp_init_attr init_attr() {
    ibv_qp_init_attr attr{};
    attr.qp_type = IBV_QPT_RC;
    attr.sq_sig_all = 1;
    attr.cap = {kDepth, kDepth, 3, 2, 64};
    return attr;
  }

  size_t room() const { return kDepth - incoming_.size(); }

  void fail(const std::string& what) {
    if (problem_.empty()) {
      problem_ = "side " + std::to_string(side_) + ": " + what;
    }
  }

  size_t draw(size_t n) { return static_cast<size_t>(prng_.next() % n); }

  size_t draw_size() {
    static constexpr size_t kEdges[] = {0, 1, 3, 4, 1023, 1024, 1025, 2048, 4096, 4097};
    return draw(3) == 0 ? kEdges[draw(std::size(kEdges))] : draw(draw(4) == 0 ? kMaxMessage : 600);
  }

  void post_receive(uint64_t slot) {
    ibv_sge sge[2];
    const size_t cut = draw(kMaxMessage);
    auto* at = landing_.data() + slot * kMaxMessage;
    sge[0] = {reinterpret_cast<uint64_t>(at), static_cast<uint32_t>(cut), landing_region_.lkey()};
    sge[1] = {reinterpret_cast<uint64_t>(at + cut), static_cast<uint32_t>(kMaxMessage - cut),
              landing_region_.lkey()};
    ibv_recv_wr wr{};
    wr.wr_id = slot;
    wr.sg_list = sge;
    wr.num_sge = 2;
    ibv_recv_wr* bad = nullptr;
    if (qp_.post_recv(&wr, &bad) != 0) {
      fail("post_recv: " + std::string(qp_.post_error()));
    }
    slots_.push_back(slot);
  }

  void post_operation() {
    static constexpr ibv_wr_opcode kOps[] = {IBV_WR_SEND,
                                             IBV_WR_SEND_WITH_IMM,
                                             IBV_WR_RDMA_WRITE,
                                             IBV_WR_RDMA_WRITE_WITH_IMM,
                                             IBV_WR_RDMA_READ,
                                             IBV_WR_ATOMIC_FETCH_AND_ADD,
                                             IBV_WR_ATOMIC_CMP_AND_SWP};
    const ibv_wr_opcode op = kOps[draw(std::size(kOps))];
    ibv_send_wr wr{};
    wr.opcode = op;
    wr.wr_id = kFirstSendId + next_id_;
    const bool atomic = op == IBV_WR_ATOMIC_FETCH_AND_ADD || op == IBV_WR_ATOMIC_CMP_AND_SWP;
    const size_t size = atomic ? 8 : draw_size();
    // Each WR has its own place in local_, so that nothing in flight is touched by another.
    Pending pending{op, (next_id_ % (kDepth / 2)) * kMaxMessage, {}};
    ++next_id_;
    uint8_t* const at = local_.data() + pending.offset;
    ibv_sge sge[3];
    wr.sg_list = sge;
    wr.num_sge = split(sge, at, size);
    wr.imm_data = htobe32(static_cast<uint32_t>(prng_.next()));
    switch (op) {
      case IBV_WR_SEND:
      case IBV_WR_SEND_WITH_IMM:
        peer_->expect({{at, at + size}, imm_of(wr), false});
        break;
      case IBV_WR_RDMA_WRITE:
      case IBV_WR_RDMA_WRITE_WITH_IMM: {
        const size_t to = draw(kHalf - size);
        std::memcpy(peer_->model_.data() + to, at, size);
        set_remote(wr, to);
        if (op == IBV_WR_RDMA_WRITE_WITH_IMM) {
          peer_->expect({std::vector<uint8_t>(size), imm_of(wr), true});
        }
        break;
      }
      case IBV_WR_RDMA_READ: {
        const size_t from = kHalf + 64 + draw(kHalf - 64 - size);
        pending.expected.assign(peer_->model_.begin() + static_cast<ptrdiff_t>(from),
                                peer_->model_.begin() + static_cast<ptrdiff_t>(from + size));
        set_remote(wr, from);
        break;
      }
      default:
        post_atomic(wr, pending);
        break;
    }
    if (size <= 64 && size > 0 && draw(2) == 0 && op != IBV_WR_RDMA_READ && !atomic) {
      wr.send_flags |= IBV_SEND_INLINE;
    }
    if (draw(8) == 0) {
      wr.send_flags |= IBV_SEND_FENCE;
    }
    ibv_send_wr* bad = nullptr;
    if (qp_.post_send(&wr, &bad) != 0) {
      fail("post_send: " + std::string(qp_.post_error()));
    }
    pending_.push_back(pending);
  }

  void post_atomic(ibv_send_wr& wr, Pending& pending) {
    const size_t to = kHalf + 8 * draw(8);
    uint64_t value;
    std::memcpy(&value, peer_->model_.data() + to, 8);
    pending.expected.assign(8, 0);
    std::memcpy(pending.expected.data(), &value, 8);
    wr.wr.atomic.remote_addr = peer_->address(to);
    wr.wr.atomic.rkey = peer_->region_.rkey();
    const uint64_t operand = prng_.next();
    if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic.compare_add = operand;
      value += operand;
    } else {
      const bool hit = draw(2) == 0;
      wr.wr.atomic.compare_add = hit ? value : ~value;
      wr.wr.atomic.swap = operand;
      value = hit ? operand : value;
    }
    std::memcpy(peer_->model_.data() + to, &value, 8);
  }

  int split(ibv_sge* sge, uint8_t* at, size_t size) {
    const size_t first = size > 2 ? draw(size) : size;
    const size_t second = size > 2 ? draw(size - first) : 0;
    const uint32_t key = local_region_.lkey();
    const size_t third = size - first - second;
    sge[0] = {reinterpret_cast<uint64_t>(at), static_cast<uint32_t>(first), key};
    sge[1] = {reinterpret_cast<uint64_t>(at + first), static_cast<uint32_t>(second), key};
    sge[2] = {reinterpret_cast<uint64_t>(at + first + second), static_cast<uint32_t>(third), key};
    return third > 0 ? 3 : second > 0 ? 2 : 1;
  }

  uint64_t address(size_t offset) const {
    return reinterpret_cast<uint64_t>(memory_.data() + offset);
  }
  void set_remote(ibv_send_wr& wr, size_t offset) const {
    wr.wr.rdma.remote_addr = peer_->address(offset);
    wr.wr.rdma.rkey = peer_->region_.rkey();
  }
  static std::optional<uint32_t> imm_of(const ibv_send_wr& wr) {
    const bool has = wr.opcode == IBV_WR_SEND_WITH_IMM || wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    return has ? std::optional<uint32_t>(wr.imm_data) : std::nullopt;
  }
  void expect(Incoming message) { incoming_.push_back(std::move(message)); }

  void on_completion(const ibv_wc& wc) {
    if (wc.status == IBV_WC_RETRY_EXC_ERR && !gave_up_) {
      gave_up_ = true;
      on_given_up(wc);
      return;
    }
    if (gave_up_ && wc.status == IBV_WC_WR_FLUSH_ERR) {
      on_given_up(wc);
      return;
    }
    if (wc.status != IBV_WC_SUCCESS || gave_up_) {
      fail("completion with status " + std::string(verbs::wc_status_name(wc.status)));
      return;
    }
    if ((wc.opcode & IBV_WC_RECV) != 0) {
      on_receive(wc);
    } else {
      on_sent(wc);
    }
  }

  /// The queue pair is in error: what is left ends in the order in which it was posted.
  void on_given_up(const ibv_wc& wc) {
    const bool receive = !slots_.empty() && wc.wr_id == slots_.front() && wc.wr_id < kDepth;
    if (!pending_.empty() && wc.wr_id == kFirstSendId + done_id_) {
      pending_.pop_front();
      ++done_id_;
    } else if (receive) {
      slots_.pop_front();
    } else {
      fail("a work request was flushed twice or out of order");
    }
  }

  void on_sent(const ibv_wc& wc) {
    if (pending_.empty() || wc.wr_id != kFirstSendId + done_id_) {
      fail("send completions out of order");
      return;
    }
    ++done_id_;
    const Pending pending = std::move(pending_.front());
    pending_.pop_front();
    if (!std::equal(pending.expected.begin(), pending.expected.end(),
                    local_.begin() + static_cast<ptrdiff_t>(pending.offset))) {
      fail("wrong data read by work request " + std::to_string(wc.wr_id));
    }
  }

  void on_receive(const ibv_wc& wc) {
    if (incoming_.empty() || slots_.empty() || slots_.front() != wc.wr_id) {
      fail("an unexpected or disordered receive completion");
      return;
    }
    slots_.pop_front();
    const Incoming message = std::move(incoming_.front());
    incoming_.pop_front();
    const bool write = wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM;
    const bool with_imm = (wc.wc_flags & IBV_WC_WITH_IMM) != 0;
    if (write != message.write || with_imm != message.imm.has_value() ||
        (with_imm && wc.imm_data != *message.imm) || wc.byte_len != message.bytes.size()) {
      fail("receive completion differs from what was sent");
      return;
    }
    const auto at = landing_.begin() + static_cast<ptrdiff_t>(wc.wr_id * kMaxMessage);
    if (!write && !std::equal(message.bytes.begin(), message.bytes.end(), at)) {
      fail("wrong data received");
    }
    ++received_;
    post_receive(wc.wr_id);
  }

  int side_;
  verbs::Device& device_;
  Prng prng_;
  verbs::Pd pd_;
  verbs::Cq cq_;
  std::vector<uint8_t> memory_;   // what the peer reaches
  std::vector<uint8_t> local_;    // sources of sends, targets of reads
  std::vector<uint8_t> landing_;  // receive buffers
  verbs::Mr region_;
  verbs::Mr local_region_;
  verbs::Mr landing_region_;
  verbs::Qp qp_;
  Party* peer_ = nullptr;
  size_t left_ = 0;
  uint64_t next_id_ = 0;
  uint64_t done_id_ = 0;
  size_t received_ = 0;
  std::vector<uint8_t> model_;  // what memory_ must be once all is done
  std::deque<Pending> pending_;
  std::deque<Incoming> incoming_;
  std::deque<uint64_t> slots_;
  bool gave_up_ = false;
  std::string problem_;
};

}  // namespace roce::sim
