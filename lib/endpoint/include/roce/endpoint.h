// Endpoint: a running uroce device made from a Config: DPDK started, the port opened and wrapped,
// the RDMA device on top. One for a process, since DPDK starts once.
//
// With engine.lcores above 1 there are as many devices, which share the addresses and nothing else:
// each has an engine, a queue pair of the port, and protection domains, memory keys, completion
// queues and queue pairs of its own. A packet reaches the device that has its destination QPN; it
// costs least where it arrives on that device's queue, which on a virtual wire is the one of the
// same number as the sender's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "roce/config.h"
#include "roce/verbs.h"

namespace roce {

/// What the configured faults have done to received packets.
struct FaultSummary {
  uint64_t lost = 0;
  uint64_t duplicated = 0;
  uint64_t corrupted = 0;
  uint64_t reordered = 0;
  uint64_t delayed = 0;
};

class Endpoint {
 public:
  /// Brings everything up; with engine.drive "lcore" the engine's thread runs from then on. The
  /// calling thread becomes DPDK's main thread, and drives the device if drive is "rtc".
  /// Errors name the setting that is at fault.
  static Result<std::unique_ptr<Endpoint>> open(const Config& config);

  /// Takes everything down, in order. Objects of the device must be gone.
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  /// The `lcore`-th device, 0..lcores()-1 (checked).
  verbs::Device& device(size_t lcore = 0);
  size_t lcores() const;
  const Config& config() const;

  /// Lets the devices make progress when this thread is the one that drives them; else yields the
  /// CPU. With drive "rtc" the opening thread drives all that it has not lent.
  void poll();

  /// Drive "rtc": another thread makes all calls of the `lcore`-th device from now on, its poll()
  /// among them, until give_back(). Both are called by the opening thread, while the other is not
  /// at it: before it starts, and after it has ended. Every engine has to be polled all the time:
  /// frames for one may come to the queue of another, requests for the node's address among them.
  void lend(size_t lcore);
  void give_back(size_t lcore);
  /// To be called once by a thread that has been lent a device: gives it buffer caches of its own.
  /// It has the CPUs of the thread that started it, mostly one. False: too many threads have
  /// caches; polling works all the same, slower.
  static bool register_thread();

  /// True when the other end of the wire is there.
  bool link_up();

  /// Waits, at most for half a second, until no peer can be asking for an acknowledgement that was
  /// lost, or the other end of the wire has gone: for programs that do not agree with their peers
  /// on when to end.
  void linger();

  FaultSummary faults() const;
  /// Time by the device's clock.
  Instant now() const;

 private:
  struct State;
  explicit Endpoint(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace roce
