// NeighbourTable: resolution in steps, and who has to leave a full table.
// SPDX-License-Identifier: BSD-3-Clause
#include "net/neighbour_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace roce {

NeighbourTable::NeighbourTable(const LocalAddresses& local, const NeighbourConfig& config)
    : local_(local), config_(config) {
  ROCE_CHECK(config.tries >= 1 && config.interval > Duration{});
  entries_.reserve(config.capacity);
}

const NeighbourTable::Entry* NeighbourTable::find(const Gid& gid) const {
  const auto it =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.gid == gid; });
  return it == entries_.end() ? nullptr : &*it;
}

NeighbourTable::Entry* NeighbourTable::find(const Gid& gid) {
  return const_cast<Entry*>(std::as_const(*this).find(gid));
}

Status NeighbourTable::add_static(const Gid& gid, const MacAddress& mac) {
  if (!is_unicast(gid) || !is_unicast(mac)) {
    return failure(EINVAL, "a static neighbour needs a unicast IP and a unicast Ethernet address");
  }
  Entry* entry = find(gid);
  if (entry == nullptr) {
    entry = new_entry(gid, Origin::fixed, Instant{});
  }
  if (entry == nullptr) {
    return failure(ENOSPC, "the neighbour table is full of " + std::to_string(entries_.size()) +
                               " entries in use; raise its capacity");
  }
  settle(*entry, NeighbourState::resolved);
  entry->mac = mac;
  entry->origin = Origin::fixed;
  return {};
}

Status NeighbourTable::set_gateway(const Gid& gateway) {
  if (!is_unicast(gateway) || !local_.on_link(gateway)) {
    return failure(EINVAL, "the gateway is not on the link; give an address within a local prefix");
  }
  (gateway.is_ipv4() ? gateway_v4_ : gateway_v6_) = gateway;
  return {};
}

std::optional<Gid> NeighbourTable::next_hop(const Gid& gid) const {
  if (!is_unicast(gid)) {
    return std::nullopt;
  }
  if (local_.on_link(gid) || find(gid) != nullptr) {
    return gid;
  }
  return gid.is_ipv4() ? gateway_v4_ : gateway_v6_;
}

Neighbour NeighbourTable::lookup(const Gid& gid) const {
  if (is_multicast(gid)) {
    return {NeighbourState::resolved, multicast_mac(gid)};
  }
  if (local_.owns(gid)) {
    return {NeighbourState::resolved, local_.mac};
  }
  const std::optional<Gid> hop = next_hop(gid);
  const Entry* entry = hop ? find(*hop) : nullptr;
  return entry == nullptr ? Neighbour{} : Neighbour{entry->state, entry->mac};
}

NeighbourState NeighbourTable::request(const Gid& gid, Instant now) {
  if (is_multicast(gid) || local_.owns(gid)) {
    return NeighbourState::resolved;
  }
  const std::optional<Gid> hop = next_hop(gid);
  if (!hop) {
    return NeighbourState::failed;
  }
  Entry* entry = find(*hop);
  if (entry == nullptr) {
    const bool can_ask = local_.source_for(*hop).has_value();
    entry = can_ask ? new_entry(*hop, Origin::asked, now) : nullptr;
    if (entry == nullptr) {
      return NeighbourState::failed;
    }
    entry->state = NeighbourState::pending;
    solicit(*entry, now);
    return entry->state;
  }
  if (entry->origin == Origin::fixed) {
    return entry->state;
  }
  entry->origin = Origin::asked;
  const bool stale = now - entry->heard >= config_.lifetime;
  if (entry->next_try == kNever && (entry->state != NeighbourState::resolved || stale)) {
    // A stale address stays good while it is being confirmed.
    if (entry->state != NeighbourState::resolved) {
      entry->state = NeighbourState::pending;
    }
    solicit(*entry, now);
  }
  return entry->state;
}

/// Adds an entry, in the place of the one that is missed least if the table is full: an unasked
/// one, one that failed, the one confirmed longest ago. Null when there is none to give up.
NeighbourTable::Entry* NeighbourTable::new_entry(const Gid& gid, Origin origin, Instant now) {
  Entry fresh;
  fresh.gid = gid;
  fresh.origin = origin;
  fresh.heard = now;
  if (entries_.size() < config_.capacity) {
    entries_.push_back(fresh);
    return &entries_.back();
  }
  // Lower is given up first; negative: never.
  const auto rank = [&](const Entry& e) {
    if (e.origin == Origin::unasked) {
      return 0;
    }
    if (e.origin == Origin::fixed || e.next_try != kNever || origin == Origin::unasked) {
      return -1;
    }
    return e.state == NeighbourState::failed ? 1 : 2;
  };
  Entry* victim = nullptr;
  for (Entry& e : entries_) {
    const bool better = victim == nullptr || rank(e) < rank(*victim) ||
                        (rank(e) == rank(*victim) && e.heard < victim->heard);
    if (rank(e) >= 0 && better) {
      victim = &e;
    }
  }
  if (victim != nullptr) {
    *victim = fresh;
  }
  return victim;
}

/// Starts a round of solicitations; the first is due at once.
void NeighbourTable::solicit(Entry& entry, Instant now) {
  entry.solicit_due = true;
  ++due_;
  entry.tries_left = config_.tries - 1;
  entry.next_try = now + config_.interval;
  deadline_ = std::min(deadline_, entry.next_try);
}

/// Ends the round of solicitations, if one is going on.
void NeighbourTable::settle(Entry& entry, NeighbourState state) {
  entry.state = state;
  if (entry.next_try != kNever) {
    due_ -= entry.solicit_due ? 1 : 0;
    entry.solicit_due = false;
    entry.next_try = kNever;
    update_deadline();
  }
}

void NeighbourTable::update_deadline() {
  deadline_ = kNever;
  for (const Entry& e : entries_) {
    deadline_ = std::min(deadline_, e.next_try);
  }
}

bool NeighbourTable::on_answer(const Gid& gid, const MacAddress& mac, bool replace, Instant now) {
  Entry* entry = find(gid);
  if (entry == nullptr || entry->origin == Origin::fixed || !is_unicast(mac)) {
    return false;
  }
  if (entry->state == NeighbourState::resolved && entry->mac != mac && !replace) {
    return true;
  }
  settle(*entry, NeighbourState::resolved);
  entry->mac = mac;
  entry->heard = now;
  return true;
}

void NeighbourTable::on_solicited_by(const Gid& gid, const MacAddress& mac, Instant now) {
  if (find(gid) != nullptr) {
    on_answer(gid, mac, true, now);
    return;
  }
  if (!is_unicast(gid) || !is_unicast(mac) || local_.owns(gid) || !local_.on_link(gid)) {
    return;
  }
  Entry* entry = new_entry(gid, Origin::unasked, now);
  if (entry != nullptr) {
    entry->state = NeighbourState::resolved;
    entry->mac = mac;
  }
}

std::optional<Gid> NeighbourTable::pull_solicitation(Instant now) {
  if (due_ == 0) {
    return std::nullopt;
  }
  const auto it =
      std::find_if(entries_.begin(), entries_.end(), [](const Entry& e) { return e.solicit_due; });
  ROCE_DCHECK(it != entries_.end());
  it->solicit_due = false;
  --due_;
  it->next_try = now + config_.interval;
  update_deadline();
  return it->gid;
}

void NeighbourTable::on_timeout(Instant now) {
  if (now < deadline_) {
    return;
  }
  for (Entry& e : entries_) {
    if (now < e.next_try) {
      continue;
    }
    if (e.tries_left == 0) {
      settle(e, NeighbourState::failed);
      continue;
    }
    --e.tries_left;
    due_ += e.solicit_due ? 0 : 1;
    e.solicit_due = true;
    e.next_try = now + config_.interval;
  }
  update_deadline();
}

}  // namespace roce
