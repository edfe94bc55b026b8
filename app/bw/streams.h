// All queue pairs' streams of one end, moved forward in turn by one loop.
//
// Thread: the caller's, which with drive "rtc" also drives the device. Nothing allocates in the
// loop. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <roce/endpoint.h>

#include "common/run/mover.h"
#include "common/run/progress.h"
#include "common/run/rig.h"
#include "common/run/run_watch.h"
#include "findings.h"
#include "peak_meter.h"
#include "plan.h"
#include "rate_limiter.h"
#include "receiver.h"
#include "sender.h"
#include "timeline.h"

namespace uroce::bw {

/// What one end has to tell after its streams.
struct StreamOutcome {
  uint64_t messages = 0;    ///< completed, or received
  double seconds = 0;       ///< of them all; a receiver counts from the first to the last
  double peak_seconds = 0;  ///< a message, in the best stretch; 0: not measured
  double confidence = 0;    ///< half of the 95 % interval, messages a second; 0: not known
  std::vector<Timeline::Mark> marks;
  Findings findings;
};

/// Both directions' lanes lie in one rig: the first half sends from the client, the second from the
/// server.
inline std::span<app::Lane> lanes_of(app::Rig& rig, const Plan& plan, bool from_client) {
  const std::span<app::Lane> all = rig.lanes();
  return plan.both_ways ? all.subspan(from_client ? 0 : plan.queue_pairs, plan.queue_pairs) : all;
}

class SendStreams {
 public:
  /// All outlive the object.
  SendStreams(const Plan& plan, app::Rig& rig, std::span<app::Lane> lanes, app::RunWatch& watch);

  roce::Status prepare();

  /// Runs until all is done and complete, or the watch says otherwise. `beside` is called once a
  /// turn; false ends the run.
  StreamOutcome run(app::Progress& progress, const std::function<bool()>& beside = {});

 private:
  void turn();
  bool post();
  bool take();
  void look(roce::Instant now, app::Progress& progress);
  void nudge();
  bool done() const;

  const Plan plan_;
  roce::Endpoint& endpoint_;
  app::RunWatch& watch_;
  app::Mover mover_;
  std::vector<std::shared_ptr<app::Receives>> credits_;
  std::vector<std::unique_ptr<Sender>> senders_;  // they stay where they are
  PeakMeter peak_;
  RateLimiter limiter_;
  Timeline timeline_;
  roce::Instant start_;
  uint64_t posted_ = 0;
  uint64_t completed_ = 0;
  bool moved_ = false;  // something completed in this turn
  roce::Instant deadline_ = roce::kNever;
  roce::Instant done_at_;    // the last completion
  roce::Instant last_sign_;  // the same, or the last nudge
};

class ReceiveStreams {
 public:
  /// Both outlive the object.
  ReceiveStreams(const Plan& plan, app::Rig& rig, std::span<app::Lane> lanes);

  roce::Status prepare();

  /// Some rounds of the device and of the queues. False when something went wrong: reason().
  bool turn(app::Progress& progress);

  /// Takes what is there, once, without driving the device.
  bool glance();

  /// Turns until `total` messages have been seen, where receivers see them. They are all on their
  /// way: over RC silence of some seconds is an error, else what does not come soon is lost.
  bool finish(uint64_t total, app::Progress& progress);

  const std::string& reason() const { return reason_; }
  StreamOutcome outcome() const;

 private:
  bool take();
  void count_atomics(uint64_t total);

  const Plan plan_;
  roce::Endpoint& endpoint_;
  app::Mover mover_;
  std::vector<std::shared_ptr<app::Receives>> receives_;
  std::vector<std::unique_ptr<Receiver>> receivers_;
  uint64_t received_ = 0;
  uint64_t settled_ = 0;
  bool moved_ = false;  // something has come in this round
  roce::Instant first_;
  roce::Instant last_;
  Findings last_findings_;  // of atomics, and of what never came: at the end
  std::string reason_;
};

}  // namespace uroce::bw
