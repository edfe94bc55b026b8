// Waiting on the completion channel: arm, look once more, then sleep.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/run/mover.h"

#include <poll.h>

namespace uroce::app {
namespace {

constexpr int kSleepMs = 5;
constexpr int kPollsARest = 64;

}  // namespace

Mover::Mover(Rig& rig)
    : rig_(rig),
      endpoint_(rig.session().endpoint()),
      drives_(endpoint_.config().engine.drive != roce::Drive::lcore),
      sleeps_(endpoint_.config().engine.drive != roce::Drive::rtc) {}

void Mover::arm() {
  for (Lane& lane : rig_.lanes()) {
    static_cast<void>(lane.connection.send_cq().arm(false));
    static_cast<void>(lane.connection.recv_cq().arm(false));
  }
  armed_ = true;
}

bool Mover::take_event() {
  bool came = false;
  while (auto cq = rig_.channel()->get_event()) {
    cq->ack_events(1);
    rig_.note_event();
    came = true;
  }
  armed_ = armed_ && !came;
  return came;
}

void Mover::rest_for_event() {
  if (!armed_) {
    arm();  // what came before gives no event: the caller looks once more
    return;
  }
  if (sleeps_) {
    pollfd fd{rig_.channel()->fd(), POLLIN, 0};
    ::poll(&fd, 1, kSleepMs);
    take_event();
    return;
  }
  for (int i = 0; i < kPollsARest && !take_event(); ++i) {
    endpoint_.poll();
  }
}

}  // namespace uroce::app
