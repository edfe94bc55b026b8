// SimPair: two whole devices on a simulated wire, one thread, virtual time. Whatever happens
// follows from the seed; the code under test is the product's own object code.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <roce/verbs.h>

#include "engine/engine.h"
#include "port/fault_config.h"
#include "port/faulty_port.h"
#include "port/loopback_port.h"

namespace roce::sim {

class VirtualClock final : public verbs::Clock {
 public:
  Instant now() override { return now_; }
  void set(Instant t) { now_ = t; }

 private:
  Instant now_{1'000'000'000};
};

struct SimOptions {
  FaultConfig faults;
  uint32_t port_mtu = 9000;
  uint32_t window_packets = 256;
  size_t held_packets[2] = {0, 0};  // of each side: 0: go-back-N
  double dcqcn_line_rate = 0;       // bytes a second
  uint32_t max_qp = 64;
  std::optional<uint16_t> vlan;
  uint64_t seed = 1;
};

class SimPair {
 public:
  explicit SimPair(const SimOptions& options);

  verbs::Device& device(int side) { return *devices_[side]; }
  const FaultCounters& faults(int side) const { return ports_[side]->counters(); }
  VirtualClock& clock() { return clock_; }
  /// How the other side addresses `side`: from its GID of that index to that of the same index.
  ibv_ah_attr address_of(int side, int gid_index);

  /// Lets both sides run once, then moves time on: a little while there is work, else to the next
  /// thing that time brings.
  void step();

  /// Steps until `done()` or until `budget` has gone by. True if done.
  template <class Done>
  bool run_until(Done&& done, Duration budget) {
    const Instant end = clock_.now() + budget;
    while (!done()) {
      if (clock_.now() > end) {
        return false;
      }
      step();
    }
    return true;
  }

 private:
  VirtualClock clock_;
  LoopbackLink link_;
  std::unique_ptr<FaultyPort> ports_[2];
  std::unique_ptr<verbs::Device> devices_[2];
};

/// Attributes that connect two queue pairs; fields may be changed before use. UC and UD take what
/// they know of them.
struct RcParameters {
  ibv_qp_type type = IBV_QPT_RC;
  ibv_mtu pmtu = IBV_MTU_1024;
  uint32_t psn[2] = {0xfffff0, 0xffffe0};  // close to the wrap
  uint8_t timeout = 8;                     // 4.096 us * 2^8 = 1 ms
  uint8_t retry_cnt = 7;
  uint8_t rnr_retry = 7;
  uint8_t min_rnr_timer = 1;
  uint8_t rd_atomic = 4;
  int gid_index = 1;
  bool loops_back = false;  // both queue pairs are side 0's
  uint8_t traffic_class = 0;
  uint32_t qkey = 0x11111111;
  int access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
};

/// Brings two queue pairs of the type to RTS, talking to each other. Empty, or the first error.
std::string connect_rc(SimPair& pair, verbs::Qp& a, verbs::Qp& b, const RcParameters& p);
/// The same for queue pairs of any two devices: `to_a` is how b's addresses a's, `to_b` the
/// reverse.
std::string connect(verbs::Qp& a, verbs::Qp& b, const ibv_ah_attr& to_a, const ibv_ah_attr& to_b,
                    const RcParameters& p);

}  // namespace roce::sim
