// Poster: the sending side of one queue pair: numbers messages, gives each its places at both ends
// and its contents, posts them in lists and counts their completions. When to post is the caller's
// business. Immediate data, where there are any, are the number of messages up to this one; atomics
// count (counted_word.h). Nothing allocates after construction.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/options.h"
#include "common/pattern.h"
#include "common/run/rig.h"

namespace uroce::app {

/// What one queue pair sends. Messages are numbered from 0 and use the places in turn.
struct Messages {
  Operation operation = Operation::send;
  uint64_t size = 0;
  uint64_t stride = 0;       ///< distance of places, at both ends
  uint64_t own_offset = 0;   ///< of the first own place in the lane's memory
  uint64_t own_places = 1;   ///< READ and atomics: to receive into
  uint64_t peer_places = 1;  ///< WRITE and READ, from the start of the other end's memory
  uint64_t total = 0;        ///< messages of the run; the last one has a completion
  uint32_t list = 1;         ///< most that are posted in one call
  uint32_t signal_every = 1;
  bool numbered = false;  ///< SENDs carry immediate data
  bool inlined = false;   ///< copied when they are posted
  bool fill = false;      ///< each message with its pattern
  bool marked = false;    ///< its last byte with mark()
  Pattern pattern{0};     ///< message m has the contents number_start + m * number_step
  uint64_t number_start = 0;
  uint64_t number_step = 1;

  /// The last byte of a marked message: never the one before, and not 0 at first.
  static uint8_t mark(uint64_t message) { return static_cast<uint8_t>(message + 1); }
};

class Poster {
 public:
  /// `lane` outlives the poster.
  Poster(Lane& lane, const Messages& messages);

  /// After the lane knows the other end's address, before the first post().
  void aim();

  /// Posts the next `count` messages, 1 to Messages::list. False: refused, see reason().
  bool post(uint64_t count);
  /// Posts the last message once more, as it was. Requires posted() > 0 and a list of one.
  bool post_again();
  /// Posts an empty SEND that carries `value`; it has a completion if `signaled`.
  bool post_note(uint32_t value, bool signaled);
  /// Takes completions. False: one was an error, or the queue overflowed; see reason().
  bool take();

  /// Ends the run with what is posted; one message more if its end would go unnoticed.
  void end_early();

  uint64_t total() const { return total_; }
  uint64_t posted() const { return posted_; }
  uint64_t completed() const { return completed_; }
  uint64_t under_way() const { return posted_ - completed_; }
  /// Signaled notes that have not completed.
  uint32_t notes_under_way() const { return notes_; }
  uint8_t* place_of(uint64_t message) const {
    return own_ + message % messages_.own_places * messages_.stride;
  }
  const std::string& reason() const { return reason_; }

 private:
  static constexpr size_t kPollBatch = 16;

  void prepare(ibv_send_wr& wr, ibv_sge& sge, uint64_t message);
  bool refused(int code, std::string_view what);

  Lane& lane_;
  const Messages messages_;
  uint8_t* const own_;
  const bool moving_;  // from message to message something changes but the number
  std::vector<ibv_send_wr> list_;
  std::vector<ibv_sge> sges_;
  std::array<ibv_wc, kPollBatch> done_{};  // here, so that it is not blanked for each poll
  uint64_t total_;
  uint64_t posted_ = 0;
  uint64_t completed_ = 0;
  uint32_t unsignaled_ = 0;  // posted since the last one with a completion
  uint32_t notes_ = 0;       // signaled and not completed
  std::string reason_;
};

}  // namespace uroce::app
