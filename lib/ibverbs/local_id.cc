// From IPv4 addresses to LIDs and back.
// SPDX-License-Identifier: BSD-3-Clause
#include "local_id.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/bytes.h"
#include "process.h"

namespace roce::ibv {
namespace {

constexpr uint32_t kLastLid = 0xbfff;  // above are multicast and the permissive one
constexpr uint8_t kIpv4GidIndex = 1;

/// The own address as a number, and which of its bits are the host's.
struct Network {
  uint32_t address;
  uint32_t host_mask;
};

std::optional<Network> own_network() {
  const auto& own = Process::get().endpoint().config().address.ipv4;
  if (!own) {
    return std::nullopt;
  }
  const uint64_t host_mask = (uint64_t{1} << (32 - own->length)) - 1;
  return Network{load_be<uint32_t>(own->address.bytes.data()), static_cast<uint32_t>(host_mask)};
}

}  // namespace

uint16_t own_lid() {
  const std::optional<Network> own = own_network();
  const uint32_t host = own ? own->address & own->host_mask : 0;
  return host <= kLastLid ? static_cast<uint16_t>(host) : uint16_t{0};
}

ibv_ah_attr with_gid(ibv_ah_attr attr) {
  if (attr.is_global != 0 || attr.dlid == 0 || own_lid() == 0) {
    return attr;
  }
  const std::optional<Network> own = own_network();
  if ((attr.dlid & ~own->host_mask) != 0) {
    return attr;
  }
  Ipv4Address peer;
  store_be(peer.bytes.data(), (own->address & ~own->host_mask) | attr.dlid);
  const Gid gid = Gid::from(peer);
  attr.grh = {};
  attr.grh.sgid_index = kIpv4GidIndex;
  std::copy(gid.bytes.begin(), gid.bytes.end(), attr.grh.dgid.raw);
  attr.is_global = 1;
  return attr;
}

}  // namespace roce::ibv
