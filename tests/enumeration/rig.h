// Rig: one device with a queue pair of each type, fast to bring into a state, to feed with one
// packet and to look at. For tests that go through very many packets.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <roce/verbs.h>

#include "engine/counters.h"
#include "enumeration/burst_port.h"
#include "enumeration/frame_builder.h"
#include "enumeration/judge.h"

namespace roce::enumeration {

/// Stands still.
class StoppedClock final : public verbs::Clock {
 public:
  Instant now() override { return Instant{1'000'000'000}; }
};

class Rig {
 public:
  static constexpr uint32_t kPeerPsn = 0xfffffe;  // wraps at once
  static constexpr uint32_t kOwnPsn = 0xffffff;

  Rig();
  ~Rig();

  /// What the device makes of the packet, from a fresh start unless the packet before cannot have
  /// left a trace.
  Outcome play(const Tuple& tuple);

  /// Brings the queue pair of the tuple's type into its state and context.
  void prepare(const Tuple& tuple);
  /// The tuple's packet as the peer would send it next.
  std::span<const uint8_t> packet(const Tuple& tuple);
  /// Takes frames in and lets the device come to rest.
  void feed(std::span<const uint8_t> frame);
  void run();

  verbs::Device& device() { return *device_; }
  BurstPort& port() { return port_; }
  /// Memory has changed since the last prepare().
  bool stored() const;
  /// Completions that nobody has taken yet.
  bool has_completions();

 private:
  verbs::Qp& qp(ibv_qp_type type);
  void modify(verbs::Qp& qp, ibv_qp_type type, ibv_qp_state state);
  void post_receive(verbs::Qp& qp);
  void post(verbs::Qp& qp, ibv_wr_opcode opcode, uint32_t bytes, bool bad_key);
  void open_message(const Tuple& tuple);
  void forget();
  Outcome observe(const Tuple& tuple, const EngineCounters& before);
  static void read_reply(const std::vector<uint8_t>& frame, Outcome& out);
  uint32_t psn_of(const Tuple& tuple) const;

  BurstPort port_;
  StoppedClock clock_;
  std::unique_ptr<verbs::Device> device_;
  std::vector<uint64_t> memory_;  // aligned for atomics
  std::optional<verbs::Pd> pd_;
  std::optional<verbs::Cq> send_cq_;
  std::optional<verbs::Cq> recv_cq_;
  std::optional<verbs::Mr> mr_;
  std::optional<verbs::Ah> ah_;
  std::vector<verbs::Qp> qps_;
  FrameBuilder builder_;
  FrameBuilder opener_;
  bool clean_ = false;  // the state below is the one that prepare() has made
  Tuple prepared_;
};

}  // namespace roce::enumeration
