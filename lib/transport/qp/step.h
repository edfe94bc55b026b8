// Step: the output side of one poll. The engine lends it blank frames; a QP's halves fill them,
// packet by packet. Nothing here knows a port.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/frame.h"
#include "base/limits.h"
#include "base/psn.h"
#include "base/time.h"
#include "memory/region_table.h"
#include "qp/path.h"

namespace roce {

/// What distinguishes a packet from its neighbours of the same QP.
struct PacketSpec {
  uint8_t opcode = 0;
  bool solicited = false;
  bool ack_req = false;
  Psn psn;
  uint32_t payload_len = 0;  ///< bytes, pad not counted
};

/// Order of calls for a packet: open(), the extension headers into what it returns, append() until
/// payload_len bytes are in, close(). A packet that is not closed leaves its frame blank for the
/// next one.
///
/// Packets are drafted first, headers in lines of this core's own and payload by address, and put
/// into their frames by finish(), many at a time. The frames' lines come from another core: were a
/// packet written into its frame at once, each read of the next one's headers would wait until all
/// those stores are through (half of the time of a 64-byte WRITE; docs/performance.md).
class Step {
 public:
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): see drafts_
  Step(Instant now, RegionTable& regions, std::span<Frame> blanks)
      : now_(now), regions_(regions), blanks_(blanks) {}

  Instant now() const { return now_; }
  /// Where keys are looked up; memory windows are bound and invalidated there.
  RegionTable& regions() const { return regions_; }

  /// No more packets can be built in this step.
  bool full() const { return used_ == limit_; }
  /// Frames filled so far, from the front of the blanks.
  size_t used() const { return used_; }
  /// Lets only `n` further packets be built until the next call.
  void allow(size_t n) {
    limit_ = used_ + n < blanks_.size() ? used_ + n : blanks_.size();
    turn_ended_ = false;
  }

  /// No blank frame is left, whatever allow() said.
  bool exhausted() const { return used_ == blanks_.size(); }
  /// No more until the next allow(): what has been built had better leave first.
  void end_turn() {
    turn_ended_ = true;
    limit_ = used_;
  }
  bool turn_ended() const { return turn_ended_; }
  /// Requires finish(): hands those of the frames filled since the `first`-th that are for this
  /// node itself to take(const Frame&) and forgets those for which it says true; returns how many.
  /// The blanks are fewer by them afterwards. Frames to a group stay, and are shown to
  /// copy(const Frame&).
  template <class Take, class Copy>
  size_t withdraw_local(size_t first, Take&& take, Copy&& copy) {
    if (destinations_ == 0) {
      return 0;
    }
    size_t kept = first;
    for (size_t i = first; i < used_; ++i) {
      const auto destination = static_cast<Destination>(destinations_ >> 2 * i & 3);
      if (destination == Destination::local && take(blanks_[i])) {
        continue;
      }
      if (destination == Destination::group) {
        copy(blanks_[i]);
      }
      blanks_[kept++] = blanks_[i];
    }
    const size_t n = used_ - kept;
    std::copy(blanks_.begin() + static_cast<ptrdiff_t>(used_), blanks_.end(),
              blanks_.begin() + static_cast<ptrdiff_t>(kept));
    blanks_ = blanks_.first(blanks_.size() - n);
    used_ = limit_ = finished_ = kept;
    destinations_ = 0;
    return n;
  }

  /// Starts a packet; requires !full(). `path` is not used any more afterwards. Returns where its
  /// extension headers go.
  uint8_t* open(const Path& path, const PacketSpec& spec);
  /// The next piece of payload; the bytes are read in finish().
  void append(const uint8_t* data, uint32_t len) {
    if (next_segment_ == segments_.size()) [[unlikely]] {
      make_room();
    }
    segments_[next_segment_++] = {data, len};
  }
  /// The packet is complete.
  void close() {
    drafts_[used_].end_segment = next_segment_;
    ++used_;
  }
  /// Asks for the first lines of a frame that a packet will be put into.
  static void own_frame(const Frame& blank);
  /// Fills the frames of all packets closed so far: headers, payload, pad and ICRC.
  void finish();

 private:
  using Destination = Path::Destination;

  /// A packet that has yet to be put into its frame.
  struct Draft {
    alignas(64) std::array<uint8_t, 128> header;
    uint32_t l3_at;  // in header
    uint32_t header_len;
    uint32_t len;  // of the whole frame
    uint32_t pad;
    uint32_t end_segment;  // of its payload in segments_, which begins where its forerunner's ends
  };

  void make_room();
  uint32_t fill(const Draft& draft, uint32_t first_segment, Frame& frame) const;

  Instant now_;
  RegionTable& regions_;
  std::span<Frame> blanks_;
  size_t used_ = 0;
  size_t limit_ = 0;
  bool turn_ended_ = false;
  size_t finished_ = 0;        // of the used ones: those whose frames are filled
  uint64_t destinations_ = 0;  // two bits a frame: where it goes
  uint32_t next_segment_ = 0;
  // Not initialised: a step of one packet must not pay for a burst.
  std::array<Segment, 4 * kTxBurst> segments_;
  std::array<Draft, kTxBurst> drafts_;
};

}  // namespace roce
