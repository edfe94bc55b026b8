// The rare part of watching a run, and the passive end's loop.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/run/run_watch.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "common/signals.h"

namespace uroce::app {
namespace {

using roce::Duration;
using roce::Instant;

constexpr Duration kLookInterval = Duration::from_ms(20);
constexpr Duration kLeastSilence = Duration::from_s(5);
// Without a time-out of its own a request would wait for ever for a dead peer.
constexpr Duration kLongestGiveUp = Duration::from_s(5);
constexpr Duration kCloseLimit = Duration::from_s(5);

Duration give_up_time(const ConnectionOptions& rc) {
  const double seconds = give_up_seconds(rc);
  const auto longest = static_cast<double>(kLongestGiveUp.ns);
  return seconds == 0 ? kLongestGiveUp
                      : Duration{static_cast<int64_t>(std::min(seconds * 1e9, longest))};
}

}  // namespace

RunWatch::RunWatch(SideChannel* channel, const ConnectionOptions& rc, Instant now)
    : channel_(channel), give_up_(give_up_time(rc)), next_look_(now), last_sign_(now) {}

void RunWatch::fail(std::string_view reason) {
  if (verdict_ == Verdict::failed) {
    return;
  }
  verdict_ = Verdict::failed;
  const bool gone = channel_ != nullptr && channel_->peer_gone();
  reason_ = gone ? fmt::format("peer ended: {} closed the connection; {}", channel_->peer(), reason)
                 : std::string(reason);
}

void RunWatch::interrupt() {
  verdict_ = std::max(verdict_, Verdict::interrupted);
}

Verdict RunWatch::look_closely(Instant now) {
  next_look_ = now + kLookInterval;
  if (stop_requested()) {
    interrupt();
  }
  if (channel_ != nullptr) {
    look_at_channel(now);
  } else if (const Duration silence = std::max(give_up_, kLeastSilence);
             now - last_sign_ > silence) {
    fail(
        fmt::format("peer silent: nothing came for {} s; did it end? (--qp-timeout sets the "
                    "patience)",
                    static_cast<double>(silence.ns) / 1e9));
  }
  return verdict_;
}

void RunWatch::look_at_channel(Instant now) {
  switch (channel_->peer_state()) {
    case PeerState::present:
      return;
    case PeerState::stopped:
      if (channel_->stop_reason() == kInterrupted) {
        interrupt();
      } else {
        fail(fmt::format("{} stopped: {}", channel_->peer(), channel_->stop_reason()));
      }
      return;
    case PeerState::gone:
      // What is under way will fail by itself, with a status that says more.
      if (gone_at_ == roce::kNever) {
        gone_at_ = now;
      } else if (now - gone_at_ > give_up_) {
        fail(fmt::format("no answer within {:.1f} s", static_cast<double>(give_up_.ns) / 1e9));
      }
      return;
  }
}

roce::Result<std::string> serve_until_closed(Session& session, const std::function<bool()>& work) {
  bool asked = false;
  Instant give_up = roce::kNever;
  session.wait_working([&] {
    if (stop_requested()) {
      const Instant now = session.endpoint().now();
      if (!std::exchange(asked, true)) {
        session.channel().send_stop(kInterrupted);
        give_up = now + kCloseLimit;
      } else if (now > give_up) {
        return false;
      }
    }
    return work();
  });
  auto line = session.channel().receive_line("the end of the run");
  session.wait_to_close();
  if (!line && line.error().code == ECONNRESET) {
    return roce::failure(ECONNRESET, fmt::format("peer ended: {}", line.error().reason));
  }
  return line;
}

}  // namespace uroce::app
