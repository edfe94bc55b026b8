// NeighbourTable: which Ethernet address an IP address is reached by. Owned by the owner of a port;
// passive: it says which solicitations are due, LinkResponder sends them and brings the answers.
//
// Entries stand for next hops: the peer itself when it is on the link, else the gateway. An entry
// is static (from the configuration, never changed by packets), asked for by request(), or unasked
// (from somebody who solicits us, and so is about to talk to us). A full table gives up unasked
// entries first and never one that is static or being resolved; packets alone can only displace
// unasked ones, so a flood of them costs nothing but those.
//
// Thread: the owning engine's thread only. Set-up and control path: a linear search.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "base/time.h"
#include "net/local_addresses.h"

namespace roce {

enum class NeighbourState : uint8_t {
  unknown,   ///< nobody has asked
  pending,   ///< being asked for
  resolved,  ///< the Ethernet address is known
  failed,    ///< no answer to any solicitation, or there is nobody to ask
};

struct Neighbour {
  NeighbourState state = NeighbourState::unknown;
  MacAddress mac;  ///< valid if resolved
};

struct NeighbourConfig {
  uint32_t capacity = 256;                     ///< entries, static ones included
  uint32_t tries = 8;                          ///< solicitations before giving up, >= 1
  Duration interval = Duration::from_ms(250);  ///< from one to the next
  Duration lifetime = Duration::from_s(60);    ///< an older answer is confirmed when requested
};

class NeighbourTable {
 public:
  /// `local` must outlive the table; it may gain addresses later. The only place that allocates.
  NeighbourTable(const LocalAddresses& local, const NeighbourConfig& config);

  /// Fixes the Ethernet address of an IP address for good. Replaces what was there.
  /// Errors: EINVAL (not unicast addresses), ENOSPC (full of static and pending entries).
  Status add_static(const Gid& gid, const MacAddress& mac);

  /// Sends what is not on the link by way of `gateway`, an address on the link, one for IPv4 and
  /// one for IPv6. Errors: EINVAL (not on the link).
  Status set_gateway(const Gid& gateway);

  /// What is known of how to reach `gid`; asks nobody. Multicast addresses and own ones are always
  /// resolved. `unknown` for an address that cannot be reached, too.
  Neighbour lookup(const Gid& gid) const;

  /// Starts to resolve `gid`, if need be, and returns the state as lookup() would. `failed` here
  /// means that there is nobody to ask: no own address of its kind, no gateway to it, or the table
  /// is full of entries in use. A resolution that failed before starts anew.
  NeighbourState request(const Gid& gid, Instant now);

  /// An answer: `mac` claims `gid`. Believed only for an entry that exists and is not static; one
  /// that is resolved changes only if `replace`. Returns whether there is such an entry.
  bool on_answer(const Gid& gid, const MacAddress& mac, bool replace, Instant now);

  /// `mac` asked for one of our addresses from `gid`: as on_answer() with replace, or else an
  /// unasked entry if there is room.
  void on_solicited_by(const Gid& gid, const MacAddress& mac, Instant now);

  /// The next hop for which a solicitation leaves now, if one is due; its answer is waited for from
  /// `now` on.
  std::optional<Gid> pull_solicitation(Instant now);

  bool wants_tx() const { return due_ != 0; }

  /// When on_timeout() should be called; kNever while nothing is being resolved.
  Instant deadline() const { return deadline_; }

  /// Makes the next solicitations due, gives up on those that had all their tries.
  void on_timeout(Instant now);

  /// Entries in use, <= the configured capacity.
  size_t size() const { return entries_.size(); }

 private:
  enum class Origin : uint8_t { unasked, asked, fixed };

  struct Entry {
    Gid gid;
    MacAddress mac;
    NeighbourState state = NeighbourState::unknown;
    Origin origin = Origin::unasked;
    bool solicit_due = false;
    uint32_t tries_left = 0;
    Instant next_try = kNever;  ///< kNever: not being solicited
    Instant heard;              ///< when `mac` was last confirmed
  };

  const Entry* find(const Gid& gid) const;
  Entry* find(const Gid& gid);
  std::optional<Gid> next_hop(const Gid& gid) const;
  Entry* new_entry(const Gid& gid, Origin origin, Instant now);
  void solicit(Entry& entry, Instant now);
  void settle(Entry& entry, NeighbourState state);
  void update_deadline();

  const LocalAddresses& local_;
  NeighbourConfig config_;
  std::vector<Entry> entries_;
  std::optional<Gid> gateway_v4_;
  std::optional<Gid> gateway_v6_;
  uint32_t due_ = 0;  ///< entries with solicit_due
  Instant deadline_ = kNever;
};

}  // namespace roce
