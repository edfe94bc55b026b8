// RunWatch: looks now and then, during a run, whether to go on: a signal here, a stop or the end of
// the other end. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <roce/endpoint.h>

#include "common/run/connection.h"
#include "common/run/session.h"

namespace uroce::app {

/// What the other end is told after Ctrl-C; any other reason means that something went wrong.
inline constexpr std::string_view kInterrupted = "interrupted";

/// Whether a run has to end.
enum class Verdict : uint8_t {
  go_on,
  interrupted,  ///< by a signal here, or by one there
  failed,       ///< reason() says why
};

class RunWatch {
 public:
  /// `channel` may be null: the stock tools close theirs before the run. Then silence of more than
  /// `rc`'s time-out, 5 s at least, counts as the other end's death.
  RunWatch(SideChannel* channel, const ConnectionOptions& rc, roce::Instant now);

  /// Looks every 20 ms; cheap enough for each round of a loop. Verdicts stay, or become worse.
  Verdict look(roce::Instant now) { return now < next_look_ ? verdict_ : look_closely(now); }

  /// What the loop found by itself, such as an error completion. The first reason stays.
  void fail(std::string_view reason);

  /// Something has come from the other end.
  void alive(roce::Instant now) { last_sign_ = now; }

  Verdict verdict() const { return verdict_; }
  bool running() const { return verdict_ == Verdict::go_on; }
  bool failed() const { return verdict_ == Verdict::failed; }
  const std::string& reason() const { return reason_; }

 private:
  Verdict look_closely(roce::Instant now);
  void look_at_channel(roce::Instant now);
  void interrupt();

  SideChannel* channel_;
  roce::Duration give_up_;  // requests under way fail within this time
  roce::Instant next_look_;
  roce::Instant last_sign_;
  roce::Instant gone_at_ = roce::kNever;
  Verdict verdict_ = Verdict::go_on;
  std::string reason_;
};

/// The passive end of a run: calls `work` again and again until the other end sends its closing
/// line, which is returned. After a signal here the other end is asked to stop and to send that
/// line early. ECANCELED: `work` said false, or the other end stopped; ECONNRESET: it ended.
roce::Result<std::string> serve_until_closed(Session& session, const std::function<bool()>& work);

}  // namespace uroce::app
