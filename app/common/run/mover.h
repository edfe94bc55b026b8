// Mover: how a run's loop lets the device go on and rests while nothing comes: by polling, by
// yielding to the engine's thread, or by waiting for a completion event.
// Thread: the session's. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <roce/endpoint.h>

#include "common/run/rig.h"

namespace uroce::app {

class Mover {
 public:
  /// `rig`, which is set up, outlives the object.
  explicit Mover(Rig& rig);

  /// This thread drives the device.
  bool drives() const { return drives_; }

  /// One turn of the device, if this thread drives it.
  void move() {
    if (drives_) {
      endpoint_.poll();
    }
  }
  /// After a round in which nothing was found. Returns within some milliseconds.
  void rest() {
    if (rig_.channel() != nullptr) {
      rest_for_event();
    } else if (!drives_) {
      endpoint_.poll();  // the engine's thread may need this CPU
    }
  }

 private:
  void rest_for_event();
  void arm();
  bool take_event();

  Rig& rig_;
  roce::Endpoint& endpoint_;
  const bool drives_;
  const bool sleeps_;  // while it rests: another thread drives the device
  bool armed_ = false;
};

}  // namespace uroce::app
