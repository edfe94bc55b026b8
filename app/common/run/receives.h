// Receives: what is posted to one receive queue, a queue pair's own or a shared one: keeps receives
// posted, each with a place of its own where there are enough, and posts used ones again a batch at
// a time. Nothing allocates after construction.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/run/rig.h"

namespace uroce::app {

/// Where messages are received.
struct Places {
  uint8_t* first = nullptr;
  uint64_t size = 0;  ///< of a message; 0: only messages without bytes come
  uint64_t stride = 0;
  uint64_t count = 1;
  uint64_t head = 0;  ///< bytes that are received in front of each message
};

class Receives {
 public:
  /// For the lane's own queue, or for the shared one that it receives from; `lane` outlives the
  /// object. `depth`: receives that are posted at first, from 1.
  Receives(Lane& lane, const Places& places, uint32_t depth);

  /// Requires a queue pair in INIT or later. False: refused, see reason().
  bool post_all();

  /// Calls `take(wc)` for each receive that has completed well on `lane`, while its place is still
  /// the caller's, and posts used receives again. Returns how many; -1 after a failure or when
  /// `take` said false: see reason(), which in the second case is empty.
  template <class Take>
  int poll(Lane& lane, const Take& take) {
    const int count = lane.connection.recv_cq().poll(done_);
    if (count <= 0) {
      return count == 0 ? 0 : overflowed();
    }
    for (int i = 0; i < count; ++i) {
      const ibv_wc& wc = done_[static_cast<size_t>(i)];
      if (wc.status != IBV_WC_SUCCESS) {
        return failed(wc);
      }
      if (!take(wc)) {
        return -1;
      }
      if (!give_back(wc.wr_id)) {
        return -1;
      }
    }
    return count;
  }

  /// The message, without what came in front of it.
  uint8_t* place_of(const ibv_wc& wc) const {
    return places_.first + wc.wr_id % places_.count * places_.stride + places_.head;
  }
  uint64_t length_of(const ibv_wc& wc) const { return wc.byte_len - places_.head; }
  const std::string& reason() const { return reason_; }

 private:
  static constexpr size_t kPollBatch = 32;

  bool give_back(uint64_t id) {
    used_.push_back(static_cast<uint32_t>(id));
    return used_.size() < batch_ || post_used();
  }
  bool post_used();
  int overflowed();
  int failed(const ibv_wc& wc);

  Lane& lane_;
  const Places places_;
  const uint32_t batch_;
  std::vector<ibv_recv_wr> list_;
  std::vector<ibv_sge> sges_;
  std::vector<uint32_t> used_;             // completed, to be posted again
  std::array<ibv_wc, kPollBatch> done_{};  // here, so that it is not blanked for each poll
  std::string reason_;
};

}  // namespace uroce::app
