// What the requester and the responder of a cell have in common: their end, the channel to the
// other one, and the steps in which both check their part.
//
// A step that fails ends the cell; the other end learns the reason over the channel.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cell.h"
#include "common/side_channel.h"
#include "end.h"

namespace uroce::rxe {

/// What a part works with; everything outlives it.
struct Scene {
  const Cell& cell;
  Opener& opener;
  End& end;
  const app::QpAddress& peer;
  app::SideChannel& channel;
  bool is_uroce;  ///< this end is uroce's, the other one is not
  /// What the other end did otherwise than the specification says, if anything.
  std::string& deviation;
};

/// One atomic operation and what it does to the word.
struct AtomicStep {
  uint64_t compare_add;
  uint64_t swap;
  uint64_t before;
  uint64_t after;
};

/// All of a cell's atomic operations, from the word that the responder begins with.
std::vector<AtomicStep> atomic_steps(Op op, size_t count);

/// The immediate data of a message, in network order.
uint32_t immediate_of(size_t message);

class Part {
 public:
  explicit Part(const Scene& scene) : scene_(scene) {}

 protected:
  const Cell& cell() const { return scene_.cell; }
  End& end() const { return scene_.end; }
  bool is_uroce() const { return scene_.is_uroce; }
  const app::QpAddress& peer() const { return scene_.peer; }

  /// The next completion, whatever it says.
  roce::Result<ibv_wc> await(std::string_view what);
  /// Fails if a completion is there, or comes within `time`.
  roce::Status stay_quiet(std::chrono::milliseconds time);
  /// The next completion, which must be of that opcode and succeed.
  roce::Status await_own(ibv_wc_opcode opcode, std::string_view what);
  /// Waits for the other end to get to the point of that name.
  roce::Status meet(std::string_view name, size_t message);
  app::SideChannel& channel() const { return scene_.channel; }
  /// What lies in front of the payload of a datagram that was received.
  uint32_t grh_bytes() const;
  /// Lets the device work for that long.
  void linger(std::chrono::milliseconds time);
  /// Fails unless uroce's queue pair is in that state; that of the other end is its own affair.
  roce::Status expect_state(ibv_qp_state state);
  /// Fails unless `found` is what the specification says, or what Soft-RoCE is known to do instead.
  roce::Status expect_status(ibv_wc_status found, ibv_wc_status right,
                             std::optional<ibv_wc_status> known_deviation);

  /// Notes what the peer did otherwise than the specification says.
  void note_deviation(const std::string& text);

  /// Fills a message that leaves from `offset` of the memory.
  void fill(size_t offset, uint32_t size, size_t message);
  /// Marks where a message is to arrive.
  void guard(size_t offset, uint32_t size);
  /// Waits for a message that comes without a completion and an acknowledgement.
  void wait_for(size_t offset, uint32_t size, size_t message);
  /// Fails unless the message is there, and nothing behind it was touched.
  roce::Status check(size_t offset, uint32_t size, size_t message);
  roce::Status check_guard(size_t offset, uint32_t size);
  uint64_t word_at(size_t offset);
  void set_word(size_t offset, uint64_t word);
  /// Where the messages of a burst lie in an area.
  static std::vector<size_t> places(std::span<const uint32_t> sizes);

 private:
  Scene scene_;
};

/// The word that the responder of atomic operations begins with.
inline constexpr uint64_t kFirstWord = 0x1111222233334444;
/// Kinds too_long, rnr and those that must fail: bytes of the message, and of a receive that is too
/// short.
inline constexpr uint32_t kMessage = 200;
inline constexpr uint32_t kShortReceive = 100;
inline constexpr std::chrono::milliseconds kLate{300};
inline constexpr uint8_t kFewRetries = 2;

}  // namespace uroce::rxe
