// A burst of equal messages between two whole devices on a loopback link in one thread: no device
// driver, no second core and no wire between them. Buffers cross by pointer.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <roce/verbs.h>

#include "loopback_side.h"
#include "port/loopback_port.h"

namespace roce::bench {

constexpr uint64_t kMostPolls = 100'000;  // of both sides, for one burst

/// A burst of equal messages from side 0 to side 1, posted and completed again and again.
class Bursts {
 public:
  Bursts(ibv_wr_opcode opcode, uint32_t size, uint32_t count)
      : link_({.mtu = 4200, .buffers = 1024, .queue = 512}),
        sides_{Side(link_.a(), link_.b(), clock_, 0, {}),
               Side(link_.b(), link_.a(), clock_, 1, {})},
        qps_{sides_[0].create_qp(), sides_[1].create_qp()},
        receives_(opcode == IBV_WR_SEND ? count : 0),
        send_list_(count),
        recv_list_(count) {
    sides_[0].connect(qps_[0], qps_[1].qpn());
    sides_[1].connect(qps_[1], qps_[0].qpn());
    for (size_t i = 0; i < 2; ++i) {
      sges_[i] = {reinterpret_cast<uint64_t>(sides_[i].memory.data()), size, sides_[i].mr->lkey()};
    }
    for (uint32_t i = 0; i < count; ++i) {
      const bool last = i + 1 == count;
      ibv_send_wr& wr = send_list_[i];
      wr = {};
      wr.next = last ? nullptr : &send_list_[i + 1];
      wr.sg_list = &sges_[0];
      wr.num_sge = 1;
      wr.opcode = opcode;
      wr.send_flags = last ? IBV_SEND_SIGNALED : 0;
      wr.wr.rdma.remote_addr = sges_[1].addr;
      wr.wr.rdma.rkey = sides_[1].mr->rkey();
      recv_list_[i] = {.wr_id = i,
                       .next = last ? nullptr : &recv_list_[i + 1],
                       .sg_list = &sges_[1],
                       .num_sge = 1};
    }
  }

  /// One burst, there and acknowledged. False when it fails or does not end.
  bool run() {
    ibv_recv_wr* bad_recv = nullptr;
    if (receives_ != 0 && qps_[1].post_recv(recv_list_.data(), &bad_recv) != 0) {
      return false;
    }
    ibv_send_wr* bad_send = nullptr;
    if (qps_[0].post_send(send_list_.data(), &bad_send) != 0) {
      return false;
    }
    uint32_t sent = 0;
    uint32_t received = 0;
    for (uint64_t polls = 0; sent < 1 || received < receives_; ++polls) {
      poll_both();
      if (!take(sides_[0], sent) || !take(sides_[1], received) || polls > kMostPolls) {
        return false;
      }
    }
    return true;
  }

  Side& side(size_t i) { return sides_[i]; }

  void poll_both() {
    sides_[0].device->poll();
    sides_[1].device->poll();
  }

 private:
  bool take(Side& side, uint32_t& count) {
    const int n = side.cq->poll(completions_);
    for (int i = 0; i < n; ++i) {
      if (completions_[static_cast<size_t>(i)].status != IBV_WC_SUCCESS) {
        return false;
      }
    }
    count += static_cast<uint32_t>(n < 0 ? 0 : n);
    return n >= 0;
  }

  CountingClock clock_;
  LoopbackLink link_;
  std::array<Side, 2> sides_;
  std::array<verbs::Qp, 2> qps_;
  uint32_t receives_;
  std::array<ibv_sge, 2> sges_{};
  std::vector<ibv_send_wr> send_list_;
  std::vector<ibv_recv_wr> recv_list_;
  std::array<ibv_wc, 32> completions_{};
};

}  // namespace roce::bench
