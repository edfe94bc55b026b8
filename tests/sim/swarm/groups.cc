// Multicast: queue pairs that are attached to groups and detached, datagrams to a group, and who
// must have a copy of each.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>

#include "base/address.h"
#include "sim/swarm/world.h"

namespace roce::swarm {
namespace {

/// Some groups are of IPv4, some of IPv6.
bool is_ipv6(size_t group) {
  return group % 2 == 1;
}

ibv_gid gid_of(size_t group) {
  const auto number = static_cast<uint8_t>(group + 1);
  const Gid gid =
      is_ipv6(group)
          ? Gid::from(Ipv6Address{{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, number}})
          : Gid::from(Ipv4Address{{239, 1, 2, number}});
  ibv_gid out{};
  std::copy(gid.bytes.begin(), gid.bytes.end(), out.raw);
  return out;
}

}  // namespace

void World::join(End& end, Prng& prng) {
  if (end.type != IBV_QPT_UD || options_.groups == 0) {
    return;
  }
  const size_t group = prng.below(static_cast<uint32_t>(options_.groups));
  if (const Status s = end.qp->attach_mcast(gid_of(group)); !s) {
    fail("attach_mcast: " + s.error().reason);
    return;
  }
  say("group " + std::to_string(group) + " is joined by " + describe(end));
  if (end.joined[group] == 0) {
    end.joined[group] = next_id_++;
  }
}

void World::leave(End& end, Prng& prng) {
  if (end.type != IBV_QPT_UD || options_.groups == 0) {
    return;
  }
  const size_t group = prng.below(static_cast<uint32_t>(options_.groups));
  const bool member = end.joined[group] != 0;
  if (end.qp->detach_mcast(gid_of(group)).has_value() != member) {
    fail(describe(end) +
         (member ? " cannot leave group " : " has left, without being in it, group ") +
         std::to_string(group));
  }
  if (member) {
    say("group " + std::to_string(group) + " is left by " + describe(end));
    end.joined[group] = 0;
    end.left[group] = next_id_++;
  }
}

ibv_ah* World::way_to_group(End& end, size_t group) {
  std::optional<verbs::Ah>& ah = end.group_ahs[group];
  if (!ah) {
    ibv_ah_attr attr{};
    attr.is_global = 1;
    attr.port_num = 1;
    attr.grh.sgid_index = is_ipv6(group) ? 0 : 1;
    attr.grh.dgid = gid_of(group);
    ah.emplace(*end.host->device->create_ah(end.host->pds[end.pd], attr));
  }
  return ah->ibv();
}

/// Whether what was received is a copy of what somebody has sent to a group of the end's.
bool World::take_copy(End& end, const ReceiveRecord& record, const ibv_wc& wc) {
  for (size_t i = 0; i < group_sent_.size(); ++i) {
    GroupMessage& m = group_sent_[i];
    if (wc.src_qp != m.qpn || !matches(end, record, wc, m.message)) {
      continue;
    }
    if (m.host == end.host && m.qpn == end.qpn) {
      fail(describe(end) + " has received its own datagram to a group");
    } else if (end.joined[m.group] == 0 && end.left[m.group] < m.id) {
      fail(describe(end) + " has received a datagram to group " + std::to_string(m.group) +
           ", to which it is not attached");
    }
    m.receivers.push_back(&end);
    copied_.push_back(i);
    ++totals_.copies;
    return true;
  }
  return false;
}

/// It was attached when the datagram was sent, and has had a receive to spare ever since.
bool World::must_have_copy(const End& end, const GroupMessage& m) const {
  const bool sender = end.qpn == m.qpn && end.host == m.host;
  const bool attached = end.joined[m.group] != 0 && end.joined[m.group] < m.id;
  const bool well = !end.gone && !end.erring && !end.failed && !end.overrun;
  const bool room = end.shared == nullptr && !options_.short_receives && !end.receives.empty() &&
                    end.receives.front().id < m.id;
  return end.type == IBV_QPT_UD && !sender && attached && well && room;
}

/// A frame that has reached one queue pair of a host has reached all of them.
void World::check_copies() {
  for (size_t i = 0; i < copied_.size() && !failed() && !options_.forged(); ++i) {
    const GroupMessage& m = group_sent_[copied_[i]];
    const Host& host = *m.receivers.back()->host;
    for (const auto& [qpn, end] : host.ends) {
      if (must_have_copy(*end, m) &&
          std::find(m.receivers.begin(), m.receivers.end(), end) == m.receivers.end()) {
        fail(describe(*end) + " has no copy of datagram " + std::to_string(m.id) + " to group " +
             std::to_string(m.group) + ", another queue pair of its host has");
      }
    }
  }
  copied_.clear();
}

}  // namespace roce::swarm
