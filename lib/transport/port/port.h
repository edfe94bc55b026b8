// Port: where frames leave and enter an engine. One engine owns one Port and crosses it once a
// burst. Implementations know frames only: no packets, no QPs.
//
// Thread: the owning engine's thread only, for every method.
// Buffers: alloc() and rx_burst() lend frames to the caller; tx_burst() (for the frames it accepts)
// and release() give them back. A frame is given back exactly once.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/address.h"
#include "base/drop_reason.h"
#include "base/frame.h"
#include "base/time.h"

namespace roce {

/// What a port is and can do. Constant after the port has been opened.
struct PortInfo {
  std::string name;            ///< for people: "net_virtio_user0", "loopback"
  MacAddress mac;              ///< own unicast address
  uint32_t mtu = 1500;         ///< largest IP packet in bytes, both ways
  uint32_t max_segments = 0;   ///< segments a sent frame may carry; 0: contiguous frames only
  bool ipv4_checksum = false;  ///< the port fills in the IPv4 header checksum itself
};

/// Totals since the port was opened. A wrapping port adds its own to those of the port below.
struct PortStats {
  uint64_t rx_frames = 0;
  uint64_t tx_frames = 0;
  uint64_t rx_missed = 0;     ///< frames lost before rx_burst could see them (ring full, no buffer)
  uint64_t tx_refused = 0;    ///< frames that tx_burst did not accept (back-pressure, not lost)
  uint64_t alloc_failed = 0;  ///< frames that alloc() could not lend
  uint64_t rx_handed_over = 0;  ///< received for another engine of the node (steering/)
};

class Port {
 public:
  virtual ~Port() = default;

  virtual const PortInfo& info() const = 0;

  /// True while the other end is there. A port that cannot know says true.
  virtual bool link_up() = 0;

  /// Lends up to frames.size() received frames, oldest first; returns how many. Each stays valid
  /// and unchanged until release().
  virtual size_t rx_burst(Instant now, std::span<Frame> frames) = 0;

  /// Lends up to frames.size() blank frames with room for an Ethernet header, a VLAN tag and
  /// info().mtu bytes at `data`; returns how many (fewer when buffers run out). `len` is 0.
  virtual size_t alloc(std::span<Frame> frames) = 0;

  /// Sends frames in order; returns how many were accepted, from the front. The rest stay the
  /// caller's. The bytes at `data` are the port's from then on; segments are read until
  /// gather_done() has counted the frame.
  virtual size_t tx_burst(Instant now, std::span<Frame> frames) = 0;

  /// Takes back lent frames, received or blank, unsent.
  virtual void release(std::span<Frame> frames) = 0;

  /// How many of the frames with segments accepted so far have had their segments read for the last
  /// time, counted in the order of acceptance. Memory that a segment points to must stay registered
  /// and unreported until its frame is counted here.
  virtual uint64_t gather_done() = 0;

  /// When the port will have something to hand up by itself (a delayed frame); kNever when only the
  /// other side can make that happen. Virtual time jumps to it.
  virtual Instant next_event() const { return kNever; }

  virtual PortStats stats() const = 0;

  // For ports that record what passes; nothing to all others.

  /// The received frame, still lent, was dropped.
  virtual void note_drop(const Frame& /*frame*/, DropReason /*reason*/) {}
  /// A queue pair has failed by itself.
  virtual void note_failure(uint32_t /*qpn*/) {}
};

}  // namespace roce
