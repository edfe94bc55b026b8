// Sender: the posting end of one queue pair's stream. It decides when to post: as deep as the plan
// says, and where messages are credited only into places for which there is a credit.
// Nothing allocates after construction. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/pattern.h"
#include "common/run/poster.h"
#include "common/run/receives.h"
#include "common/run/rig.h"
#include "findings.h"
#include "plan.h"

namespace uroce::bw {

class Sender {
 public:
  /// The lane's memory has plan.memory() bytes; it outlives the sender. `credits`: receives for
  /// them, if there are any; posted by their owner.
  Sender(const Plan& plan, app::Lane& lane, std::shared_ptr<app::Receives> credits);

  /// After the lane knows the other end's addresses.
  void aim() { poster_.aim(); }

  // All return false when something went wrong: reason().

  /// Posts what may be posted, at most `quota` messages; what is posted is taken from it.
  bool post(uint64_t& quota);
  /// Takes what has completed.
  bool take();
  /// Nothing has completed for a while: repeats the last notice if it may have been lost.
  bool nudge();

  /// Ends the stream with what is posted already.
  void stop_early() { poster_.end_early(); }

  uint64_t posted() const { return poster_.posted(); }
  uint64_t completed() const { return poster_.completed(); }
  bool done() const;
  /// READ and atomics only; the other operations are checked by the receiver.
  const Findings& findings() const { return findings_; }
  const std::string& reason() const {
    return poster_.reason().empty() && credits_ ? credits_->reason() : poster_.reason();
  }

 private:
  uint64_t postable(uint64_t quota) const;
  bool post_notice();
  void check(uint64_t first, uint64_t end);
  bool take_credit(const ibv_wc& wc);

  const Plan plan_;
  app::Lane& lane_;
  app::Poster poster_;
  const std::shared_ptr<app::Receives> credits_;
  const app::Pattern pattern_;
  uint64_t noticed_ = 0;   // messages that the receiver has been told of
  uint64_t credited_ = 0;  // messages whose places may be written again
  Findings findings_;
};

}  // namespace uroce::bw
