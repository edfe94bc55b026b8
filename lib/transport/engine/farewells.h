// Farewells: what RC queue pairs that were destroyed still owe their peers. An acknowledgement may
// be lost on its way, and with it the peer's only word that its last message has arrived: it asks
// again, and would report a failure although the application here has got the message. So for a
// while duplicates of what was executed are acknowledged; everything else is for a queue pair that
// does not exist. Thread: the engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "base/psn.h"
#include "base/time.h"
#include "qp/path.h"
#include "qp/qp.h"
#include "qp/step.h"
#include "wire/packet.h"

namespace roce {

class Farewells {
 public:
  /// Longest time in which a peer is answered after the queue pair has gone. The number of a queue
  /// pair rests for longer (QpTable), so that it cannot be another one's meanwhile.
  static constexpr Duration kMostPatience = Duration::from_ms(500);

  /// How long the peer of `qp` may ask in vain, should its last acknowledgement be lost; zero: it
  /// waits for none.
  static Duration patience(const Qp& qp);

  /// `qp` is about to be destroyed.
  void add(const Qp& qp, Instant now);
  /// Takes a packet for a queue pair that does not exist. False: it never did, or the packet is not
  /// one that is acknowledged; drop it.
  bool take(Instant now, const wire::Packet& packet);

  bool wants_tx() const { return due_ > 0; }
  /// Builds what is due while the step has room.
  void pull(Step& step);

  /// Nobody asks any more from then on.
  Instant until() const;

 private:
  struct Departed {
    Path path;
    Psn last;  // executed
    uint32_t msn = 0;
    uint16_t pkey = 0;
    Instant until;
    bool due = false;
  };

  void forget_old(Instant now);

  std::map<uint32_t, Departed> departed_;  // by QPN
  std::deque<uint32_t> order_;             // their QPNs, as they went
  size_t due_ = 0;                         // of them
};

}  // namespace roce
