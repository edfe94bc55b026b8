// MulticastTable: which UD QPs have joined which group. A datagram to a group reaches each of them.
// Thread: the engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "base/address.h"
#include "base/limits.h"
#include "base/result.h"
#include "qp/qp.h"

namespace roce {

class MulticastTable {
 public:
  /// Adds the QP to the group; nothing changes when it is a member already. True: it is the group's
  /// first member. ENOMEM at kMaxMulticastGroups or kMaxMulticastQps.
  Result<bool> attach(const Gid& group, Qp& qp) {
    auto at = groups_.find(group);
    if (at == groups_.end()) {
      if (groups_.size() == kMaxMulticastGroups) {
        return failure(ENOMEM, "all " + std::to_string(kMaxMulticastGroups) +
                                   " multicast groups are in use; detach from some");
      }
      groups_[group].push_back(&qp);
      return true;
    }
    std::vector<Qp*>& members = at->second;
    if (std::find(members.begin(), members.end(), &qp) != members.end()) {
      return false;
    }
    if (members.size() == kMaxMulticastQps) {
      return failure(ENOMEM, "the group has " + std::to_string(kMaxMulticastQps) +
                                 " queue pairs, which is the limit; detach some");
    }
    members.push_back(&qp);
    return false;
  }

  /// Takes the QP out of the group. True: the group has no member left. EINVAL: it was none.
  Result<bool> detach(const Gid& group, const Qp& qp) {
    const auto at = groups_.find(group);
    const auto member = at == groups_.end() ? std::vector<Qp*>::iterator{}
                                            : std::find(at->second.begin(), at->second.end(), &qp);
    if (at == groups_.end() || member == at->second.end()) {
      return failure(EINVAL, "the queue pair is not attached to this multicast group");
    }
    at->second.erase(member);
    if (!at->second.empty()) {
      return false;
    }
    groups_.erase(at);
    return true;
  }

  /// The members of the group, or nullptr when there are none.
  const std::vector<Qp*>* members(const Gid& group) const {
    const auto at = groups_.find(group);
    return at == groups_.end() ? nullptr : &at->second;
  }

 private:
  std::map<Gid, std::vector<Qp*>> groups_;
};

}  // namespace roce
