// Receiver: the server's end of one queue pair's stream. It takes messages that need receives;
// where they are credited it compares group after group and gives credits; otherwise its engine
// does all the work. Nothing allocates after construction. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
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
  /// The lane's memory has plan.memory() bytes; it outlives the receiver. `receives`: for messages
  /// and notices, if the plan has any; posted by their owner.
  Receiver(const Plan& plan, app::Lane& lane, std::shared_ptr<app::Receives> receives);

  /// Fills what will be read.
  void prepare();

  /// Takes what has come. How much, or -1 when something went wrong: reason().
  int take();

  /// Messages that the receiver itself has seen: none of READs and plain WRITEs.
  uint64_t received() const { return received_; }
  /// Up to which message it knows what became of them.
  uint64_t settled() const { return settled_; }
  const Findings& findings() const { return findings_; }
  /// Atomics that have been counted here.
  uint64_t counted() const { return app::word_at(memory_) - app::word_before(0); }
  const std::string& reason() const { return reason_; }

 private:
  bool take(const ibv_wc& wc);
  bool take_message(const ibv_wc& wc);
  bool take_notice(const ibv_wc& wc);
  std::optional<uint32_t> ahead(uint64_t number);
  void compare(uint8_t* at, uint64_t message);
  void skip_to(uint64_t message);
  uint8_t* place_of(uint64_t number, uint64_t places) const {
    return memory_ + number % places * plan_.stride;
  }

  const Plan plan_;
  app::Lane& lane_;
  uint8_t* const memory_;
  const std::shared_ptr<app::Receives> receives_;
  std::optional<app::Poster> credits_;  // leaving
  const app::Pattern pattern_;
  uint64_t received_ = 0;
  uint64_t settled_ = 0;
  Findings findings_;
  std::string reason_;
};

}  // namespace uroce::bw
