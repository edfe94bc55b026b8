// Receiver: the server's end of one queue pair's stream. It takes messages that need receives; for
// validated WRITEs it compares group after group and gives credits; otherwise its engine does all
// the work. Nothing allocates after construction. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/counted_word.h"
#include "common/pattern.h"
#include "common/run/poster.h"
#include "common/run/receives.h"
#include "common/run/rig.h"
#include "findings.h"
#include "plan.h"

namespace uroce::bw {

class Receiver {
 public:
  /// The lane's memory has plan.memory() bytes; it outlives the receiver.
  Receiver(const Plan& plan, app::Lane& lane);

  /// Fills what will be READ and posts the receives. Requires a queue pair in INIT or later.
  bool prepare();

  /// Takes what has come. How much, or -1 when something went wrong: reason().
  int take();

  /// Messages that the receiver itself has seen: none of READs and plain WRITEs.
  uint64_t received() const { return received_; }
  const Findings& findings() const { return findings_; }
  /// Atomics that have been counted here.
  uint64_t counted() const { return app::word_at(memory_) - app::word_before(0); }
  const std::string& reason() const { return reason_; }

 private:
  bool take_message(const ibv_wc& wc);
  bool fits(const ibv_wc& wc);
  bool take_notice(const ibv_wc& wc);
  uint8_t* place_of(uint64_t number, uint64_t places) const {
    return memory_ + number % places * plan_.stride;
  }

  const Plan plan_;
  uint8_t* const memory_;
  std::optional<app::Receives> receives_;  // messages, or notices
  std::optional<app::Poster> credits_;     // leaving
  const app::Pattern pattern_;
  uint64_t received_ = 0;
  Findings findings_;
  std::string reason_;
};

/// Whether receivers of this plan see messages.
inline bool sees_messages(const Plan& plan) {
  return takes_receive(plan.operation) || plan.credited();
}

}  // namespace uroce::bw
