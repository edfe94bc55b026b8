// GroupReporter: tells the link's switches and routers which multicast groups this node listens to:
// IGMPv2 (RFC 2236) for IPv4 groups, MLDv1 (RFC 2710) for IPv6 ones. Owned by LinkResponder;
// passive.
//
// A group is reported twice when it is joined, then once a minute. Queries are not listened to: the
// reports come well within the 260 s after which a querier that hears nothing forgets a group.
//
// Thread: the owning engine's thread only.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "base/address.h"
#include "base/time.h"
#include "net/local_addresses.h"

namespace roce {

class GroupReporter {
 public:
  static constexpr Duration kFirstInterval = Duration::from_s(1);
  static constexpr Duration kInterval = Duration::from_s(60);
  static constexpr size_t kMaxFrame = 96;  ///< bytes of its longest frame

  /// `local` must outlive the reporter.
  explicit GroupReporter(const LocalAddresses& local) : local_(local) {}

  /// The first QP has joined the group, the last one has left it. Link-local groups of all nodes
  /// need no report and get none.
  void join(Instant now, const Gid& group);
  void leave(const Gid& group);
  /// No more reports, and no word that the node has left: somebody else of it may be a member.
  void fall_silent(const Gid& group);

  bool wants_tx() const { return !pending_.empty(); }
  /// Writes the next frame at `out` (room for kMaxFrame bytes); its length, 0 when there is none.
  size_t pull(uint8_t* out);

  /// When on_timeout() has something to do; kNever without groups.
  Instant deadline() const { return deadline_; }
  void on_timeout(Instant now);

 private:
  struct Report {
    Gid group;
    bool joined = true;
  };

  const LocalAddresses& local_;
  std::map<Gid, Instant> next_;  // when each group is reported again
  std::deque<Report> pending_;
  Instant deadline_ = kNever;
};

}  // namespace roce
