// Victim: the device that the engine fuzzer attacks: live queue pairs of each type, one of them on
// a shared receive queue, memory with rights and memory without, windows, small completion queues.
// It is set up once; begin() brings everything that an input may have changed back to the start,
// and with it nothing that the input has not touched. Its numbers are drawn from a fixed seed and
// its addresses are the same in each process, so an input does the same to each victim.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <roce/verbs.h>

#include "engine/counters.h"
#include "fuzz/digest.h"
#include "fuzz/fuzz_clock.h"
#include "fuzz/victim_port.h"
#include "qp/core.h"

namespace roce::fuzz {

class Victim {
 public:
  static constexpr size_t kQps = 4;               ///< RC, UC, UD, RC with a shared receive queue
  static constexpr uint32_t kPeerQpn = 0x00abc0;  ///< of the first; the others follow
  static constexpr uint32_t kQkey = 0x11111111;
  static constexpr uint32_t kPeerPsn = 0xfffff0;
  static constexpr uint32_t kOwnPsn = 0xfffff8;
  static constexpr size_t kOpen = 8192;              ///< bytes that peers may reach
  static constexpr size_t kGuard = 1024;             ///< and bytes that nobody may, behind those
  static constexpr uint64_t kVa = 0x7000'0000'0000;  ///< of the open ones, for keys

  Victim();
  ~Victim();

  /// Back to the start. `digest` may be nullptr; else everything that the device lets be seen from
  /// now on is added to it.
  void begin(Digest* digest);
  /// Lets the device work for a while.
  void run(int turns = 6);
  /// The input is over: everything that must hold at any time does (checked).
  void end();

  /// Puts a frame on the wire that no queue pair but this one may take.
  void deliver(size_t index, std::span<const uint8_t> frame);
  void modify(size_t index, ibv_qp_state state);
  void post_receive(size_t index, size_t offset, uint32_t length);
  void post_send(size_t index, ibv_send_wr& wr, size_t offset, uint32_t length, bool bad_key);
  void bind_window(size_t index, size_t offset, size_t length, int access);
  void drop_region();

  verbs::Device& device() { return *device_; }
  VictimPort& port() { return port_; }
  FuzzClock& clock() { return clock_; }
  verbs::Qp& qp(size_t index) { return qps_[index]; }
  verbs::Ah& ah() { return *ah_; }
  uint64_t va(size_t offset) const { return kVa + offset; }
  uint32_t open_key() const { return open_ ? open_->rkey() : 1; }
  uint32_t guard_key() const { return guard_->rkey(); }
  uint32_t window_key() const { return window_->rkey(); }

 private:
  uint64_t* guard() { return memory_.data() + kOpen / sizeof(uint64_t); }
  void create_objects();
  void register_open();
  void alloc_window();
  void reconnect();
  void restore_memory();
  void empty_shared_queue();
  void drain();
  void note_completion(const ibv_wc& wc);
  void note(uint64_t seen) {
    if (digest_ != nullptr) {
      digest_->add(seen);
    }
  }
  void note_end();

  VictimPort port_;
  FuzzClock clock_;
  std::unique_ptr<verbs::Device> device_;
  std::vector<uint64_t> memory_;  // open bytes, then guarded ones
  std::optional<verbs::Pd> pd_;
  std::optional<verbs::Cq> send_cq_;
  std::optional<verbs::Cq> recv_cq_;
  std::optional<verbs::Mr> open_;
  std::optional<verbs::Mr> guard_;
  std::optional<verbs::Mw> window_;
  std::optional<verbs::Srq> srq_;
  std::optional<verbs::Ah> ah_;
  std::vector<verbs::Qp> qps_;
  Digest* digest_ = nullptr;
  EngineCounters counters_;  // at the start
  QpCounters qp_counters_;   // of all queue pairs
  // What the input has touched.
  std::array<bool, kQps> touched_{};
  bool window_touched_ = false;
  bool shared_queue_touched_ = false;
};

}  // namespace roce::fuzz
