// Pinger: the measured loop of uroce-pingpong. Queue pairs take turns, message by message.
//
// Thread: the caller's, which with drive "rtc" also drives the device.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/histogram.h"
#include "common/pattern.h"
#include "common/run/mover.h"
#include "common/run/poster.h"
#include "common/run/progress.h"
#include "common/run/receives.h"
#include "common/run/rig.h"
#include "common/run/run_watch.h"
#include "plan.h"

namespace uroce::pingpong {

struct Outcome {
  uint64_t iterations = 0;  ///< round trips, or READs
  double seconds = 0;
  app::Histogram times;   ///< of round trips, or READs
  uint64_t checked = 0;   ///< messages of which every byte was compared
  uint64_t repeated = 0;  ///< messages sent again, over UC and UD
};

class Pinger {
 public:
  /// The lanes' memory has plan.memory() bytes each; both outlive the pinger.
  Pinger(const Plan& plan, app::Rig& rig, app::RunWatch& watch);

  /// Posts the first receives. Requires queue pairs in INIT or later.
  roce::Status prepare();

  /// Runs all iterations, or as many as the watch allows. The server of a one-sided operation must
  /// not call it.
  Outcome run(app::Progress& progress);

  /// The server of a one-sided operation: whether the memory is as so many of them leave it, where
  /// that is to be checked.
  bool check_served(uint64_t iterations);

  /// Over UC and UD: sends the last message again if the other end has been silent for a while, as
  /// its loss would make it. To be called while this end has nothing more to wait for.
  void nudge();

  /// Polls until every send has completed; false when the watch ended it.
  bool drain();

 private:
  struct Line {
    Line(const Plan& plan, app::Lane& to, uint64_t iterations)
        : lane(to), poster(to, plan.messages(iterations)), place(to.memory.data()) {}
    app::Lane& lane;
    app::Poster poster;
    std::shared_ptr<app::Receives> receives;
    uint8_t* place;         // of the message that has arrived
    uint64_t arrived = 0;   // that took a receive
    uint64_t accepted = 0;  // messages
  };

  void fill(const Line& line) const;
  bool bounce(uint64_t number, app::Progress& progress);
  bool fetch(uint64_t number, app::Progress& progress);
  bool wait_until_due(uint64_t number);
  void note_round_trip(uint64_t number, app::Progress& progress);
  bool send(Line& line);
  bool drain(Line& line);
  Line* await(uint64_t number);
  bool take_receives(Line& line);
  bool await_byte(const Line& line);
  bool accept(Line& line);
  bool accept_stock(const Line& line);
  std::optional<app::WrongByte> compare(const Line& line) const;
  bool take_receive(Line& line, const ibv_wc& wc);
  bool take_sends(Line& line);
  bool step(uint32_t& idle);
  Line& line_of(uint64_t number) { return *lines_[number % lines_.size()]; }

  const Plan plan_;
  roce::Endpoint& endpoint_;
  app::RunWatch& watch_;
  const app::Pattern pattern_;
  app::Mover mover_;
  std::vector<std::unique_ptr<Line>> lines_;
  Line* last_line_ = nullptr;  // that sent last
  roce::Instant last_sent_;
  roce::Instant last_;  // arrival of the last message, or when the next was due
  roce::Instant start_;
  Outcome outcome_;
};

}  // namespace uroce::pingpong
