// LinkResponder: speaks the small protocols that whoever owns a port's addresses must speak. It
// answers ARP, IPv6 neighbour solicitations and pings of the own addresses, sends the solicitations
// that NeighbourTable wants and brings it the answers. Owned by the owner of a port; passive.
//
// Input changes state only; frames are pulled afterwards. Replies wait in a bounded queue, of which
// pings may not take the last places. Nothing that fails a check causes a reply or a state change.
// Duplicate address detection is not done.
//
// Thread: the owning engine's thread only.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/address.h"
#include "base/time.h"
#include "net/group_reporter.h"
#include "net/link_frames.h"
#include "net/local_addresses.h"
#include "net/neighbour_table.h"
#include "wire/arp.h"
#include "wire/icmp.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace roce {

/// What became of the frames that were consumed: each counts once, in one of these.
struct LinkCounters {
  uint64_t malformed = 0;        ///< too short, a wrong length or checksum, a field out of range
  uint64_t ignored = 0;          ///< whole, but of no concern: other targets, other ICMP messages
  uint64_t requests = 0;         ///< solicitations of own addresses, answered
  uint64_t answers = 0;          ///< answers or announcements of known neighbours
  uint64_t echoes = 0;           ///< pings, answered
  uint64_t echoes_too_long = 0;  ///< pings longer than kMaxEchoPacket
  uint64_t queue_full = 0;       ///< would have been answered
  uint64_t conflicts = 0;        ///< another node claims an own address
};

class LinkResponder {
 public:
  static constexpr size_t kMinPullCapacity = 128;  ///< all but long echo replies fit
  static constexpr size_t kMaxReplies = 16;        ///< that can wait
  static constexpr size_t kReservedReplies = 4;    ///< of these, not for pings

  /// Both must outlive the responder. Addresses that are added to `local` later are answered for
  /// from then on. The only place that allocates.
  LinkResponder(const LocalAddresses& local, NeighbourTable& neighbours);

  /// Takes a received frame that is not RoCE. True when it was for this object: ARP or ICMP, on our
  /// VLAN, to our Ethernet address or to many; right or wrong. Else nothing has changed.
  bool on_frame(Instant now, std::span<const uint8_t> frame);

  /// Writes the next frame to send at `out` and returns its length, at most `capacity`; 0 when
  /// there is none. `capacity` is that of the port's frames: its MTU, an Ethernet header and a VLAN
  /// tag. Replies that exceed it are dropped; below kMinPullCapacity nothing is done.
  size_t pull(Instant now, uint8_t* out, size_t capacity);

  /// True when pull() has a frame.
  bool wants_tx() const {
    return reply_count_ != 0 || unannounced_.any() || neighbours_.wants_tx() || groups_.wants_tx();
  }

  /// When on_timeout() should be called; kNever while nothing waits for time.
  Instant deadline() const { return std::min(neighbours_.deadline(), groups_.deadline()); }

  void on_timeout(Instant now) {
    neighbours_.on_timeout(now);
    groups_.on_timeout(now);
  }

  /// The multicast groups that this node listens to.
  GroupReporter& groups() { return groups_; }

  /// Tells the link about all own addresses: a gratuitous ARP or an unsolicited advertisement each.
  void announce();

  const LinkCounters& counters() const { return counters_; }

 private:
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): bytes up to len only mean anything
  struct Reply {
    size_t len = 0;
    std::array<uint8_t, kMaxLinkFrame> bytes;
  };

  /// The parts of a frame that the protocols need.
  struct Received {
    Instant now;
    MacAddress source_mac;
    std::span<const uint8_t> bytes;  ///< what follows the headers taken off so far
  };

  void on_arp(const Received& in);
  void on_arp_request(const Received& in, const wire::ArpPacket& arp);
  bool on_ipv4(Received in);
  void on_icmp(const Received& in, const wire::Ipv4Header& ip);
  bool on_ipv6(Received in);
  void on_icmpv6(const Received& in, const wire::Ipv6Header& ip);
  void on_solicitation(const Received& in, const wire::Ipv6Header& ip);
  void on_advertisement(const Received& in, const wire::Ipv6Header& ip);
  template <class IpHeader>
  void on_echo_request(const Received& in, const IpHeader& ip);

  Reply* new_reply(size_t reserved);
  size_t write_announcement(const Gid& gid, uint8_t* out) const;
  size_t write_solicitation(const Gid& target, uint8_t* out) const;

  const LocalAddresses& local_;
  NeighbourTable& neighbours_;
  GroupReporter groups_;
  LinkCounters counters_;
  std::bitset<LocalAddresses::kMaxAddresses> unannounced_;   ///< bit i: local_.entries()[i]
  std::unique_ptr<std::array<Reply, kMaxReplies>> replies_;  ///< a ring
  size_t first_reply_ = 0;
  size_t reply_count_ = 0;
};

}  // namespace roce
