// Frame: the bytes of one Ethernet frame as they cross the port boundary.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace roce {

/// A run of bytes that follows a frame's header part on the wire. It points into memory that the
/// port does not own (registered user memory, or the tail of the header buffer). Without initial
/// values, so that an array of them costs nothing before it is used (Step has one).
struct Segment {
  const uint8_t* data;
  uint32_t len;  ///< bytes
};

/// A gather list: `len` bytes at `data`, then the segments in order. Received frames always have no
/// segments: a port hands them up in one piece.
struct Frame {
  uint8_t* data = nullptr;            ///< header part, or the whole frame; in the port's memory
  uint32_t len = 0;                   ///< bytes at `data`
  uint32_t segment_count = 0;         ///< 0: the frame is complete at `data`
  const Segment* segments = nullptr;  ///< array of `segment_count`; read during tx_burst only
  void* cookie = nullptr;             ///< the port's own (an mbuf, a slot); never touched by others
};

}  // namespace roce
