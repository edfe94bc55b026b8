// From address vectors to ways through the network.
// SPDX-License-Identifier: BSD-3-Clause
#include "address.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/limits.h"
#include "objects.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace roce::verbs {

using detail::DeviceState;

namespace {

constexpr uint8_t kDefaultHopLimit = 64;
constexpr uint32_t kMaxFlowLabel = 0xfffff;

std::string text_of(const Gid& gid) {
  std::string out;
  constexpr char kHex[] = "0123456789abcdef";
  for (size_t i = 0; i < gid.bytes.size(); ++i) {
    out += i > 0 && i % 2 == 0 ? ":" : "";
    out += kHex[gid.bytes[i] >> 4];
    out += kHex[gid.bytes[i] & 15];
  }
  return out;
}

/// The peer's Ethernet address: known, or asked for while the engine is driven.
Result<MacAddress> resolve(DeviceState& device, const Gid& peer) {
  if (device.engine.addresses().owns(peer)) {
    return device.engine.addresses().mac;
  }
  Neighbour found;
  const auto look = [&](bool ask) {
    device.driver.run([&] {
      if (ask) {
        found.state = device.engine.neighbours().request(peer, device.engine.now());
      }
      if (!ask || found.state == NeighbourState::resolved) {
        found = device.engine.neighbours().lookup(peer);
      }
    });
  };
  look(true);
  const Instant give_up = device.clock.now() + device.config.resolve_timeout;
  while (found.state == NeighbourState::pending && device.clock.now() < give_up) {
    device.driver.poll();
    if (device.config.while_waiting) {
      device.config.while_waiting();
    }
    look(false);
  }
  if (found.state != NeighbourState::resolved) {
    return failure(EHOSTUNREACH, "no Ethernet address for peer " + text_of(peer) +
                                     ": nobody answered; check that the peer is running and on "
                                     "this link, or configure a static neighbour");
  }
  return found.mac;
}

}  // namespace

ibv_mtu largest_pmtu(uint32_t port_mtu) {
  int mtu = IBV_MTU_256;
  for (int m = IBV_MTU_512; m <= IBV_MTU_4096; ++m) {
    if ((kMinPmtu << (m - IBV_MTU_256)) + kPacketOverhead <= port_mtu) {
      mtu = m;
    }
  }
  return static_cast<ibv_mtu>(mtu);
}

Gid to_gid(const ibv_gid& gid) {
  Gid g;
  std::memcpy(g.bytes.data(), gid.raw, g.bytes.size());
  return g;
}

Status check_address(const DeviceState& device, const ibv_ah_attr& ah) {
  if (ah.is_global == 0) {
    return failure(
        EINVAL,
        "ah_attr.is_global is 0; RoCE addresses peers by GID: set it to 1 and fill in ah_attr.grh");
  }
  if (ah.port_num != 1 && ah.port_num != 0) {
    return failure(EINVAL, "ah_attr.port_num is " + std::to_string(ah.port_num) + "; use 1");
  }
  if (ah.grh.sgid_index >= device.gids.size()) {
    return failure(EINVAL, "ah_attr.grh.sgid_index is " + std::to_string(ah.grh.sgid_index) +
                               "; the largest allowed value is " +
                               std::to_string(device.gids.size() - 1));
  }
  if (ah.grh.flow_label > kMaxFlowLabel) {
    return failure(EINVAL, "ah_attr.grh.flow_label is " + std::to_string(ah.grh.flow_label) +
                               "; the largest allowed value is " + std::to_string(kMaxFlowLabel));
  }
  const Gid source = device.gids[ah.grh.sgid_index];
  const Gid destination = to_gid(ah.grh.dgid);
  if (!is_unicast(destination) && !is_multicast(destination)) {
    return failure(EINVAL,
                   "ah_attr.grh.dgid " + text_of(destination) +
                       " is neither a unicast nor a multicast address; give the GID of the peer");
  }
  if (source.is_ipv4() != destination.is_ipv4()) {
    return failure(EINVAL, "GID index " + std::to_string(ah.grh.sgid_index) + " is an " +
                               (source.is_ipv4() ? "IPv4" : "IPv6") + " address and the peer's " +
                               text_of(destination) + " is not; choose a GID of the same family");
  }
  return {};
}

Status check_unicast(const ibv_ah_attr& ah) {
  const Gid destination = to_gid(ah.grh.dgid);
  if (is_unicast(destination)) {
    return {};
  }
  return failure(EINVAL, "ah_attr.grh.dgid " + text_of(destination) +
                             " is not a unicast address; a multicast group is for UD queue pairs");
}

Result<Path> make_path(DeviceState& device, const ibv_ah_attr& ah, const PathUser& user) {
  PathSpec spec;
  spec.source = device.gids[ah.grh.sgid_index];
  spec.destination = to_gid(ah.grh.dgid);
  if (is_multicast(spec.destination)) {
    spec.destination_mac = multicast_mac(spec.destination);
  } else {
    const Result<MacAddress> mac = resolve(device, spec.destination);
    if (!mac) {
      return tl::make_unexpected(mac.error());
    }
    spec.destination_mac = *mac;
  }
  spec.source_mac = device.engine.addresses().mac;
  spec.vlan_id = device.engine.addresses().vlan;
  spec.vlan_priority = ah.sl & 7;
  spec.traffic_class = ah.grh.traffic_class;
  spec.hop_limit = ah.grh.hop_limit == 0 ? kDefaultHopLimit : ah.grh.hop_limit;
  spec.flow_label = ah.grh.flow_label;
  spec.pkey = user.pkey;
  spec.local_qpn = user.local_qpn;
  spec.remote_qpn = user.remote_qpn;
  return Path(spec);
}

Ah::Ah(std::unique_ptr<detail::AhState> state) : state_(std::move(state)) {}
Ah::Ah(Ah&&) noexcept = default;
Ah& Ah::operator=(Ah&&) noexcept = default;
Ah::~Ah() = default;
ibv_ah* Ah::ibv() const {
  return &state_->ibv;
}

Result<Ah> Device::create_ah(const Pd& pd, const ibv_ah_attr& attr) {
  if (const Status s = check_address(*state_, attr); !s) {
    return tl::make_unexpected(s.error());
  }
  if (const Status s = state_->ahs.take(); !s) {
    return tl::make_unexpected(s.error());
  }
  auto state = std::make_unique<detail::AhState>();
  state->pd = pd.state();
  const Result<Path> path = make_path(*state_, attr, {});
  if (!path) {
    return tl::make_unexpected(path.error());
  }
  state->path = *path;
  return Ah(std::move(state));
}

Result<ibv_ah_attr> Device::init_ah_from_wc(uint8_t port_num, const ibv_wc& wc,
                                            const ibv_grh& grh) const {
  if ((wc.wc_flags & IBV_WC_GRH) == 0) {
    return failure(EINVAL, "the completion has no GRH; only those of received datagrams have");
  }
  const auto* const bytes = reinterpret_cast<const uint8_t*>(&grh);
  Gid source;
  Gid destination;
  ibv_ah_attr attr{};
  if (bytes[0] >> 4 == 6) {
    const auto ip = wire::Ipv6Header::parse(bytes);
    source = Gid::from(ip.source);
    destination = Gid::from(ip.destination);
    attr.grh.traffic_class = ip.traffic_class;
    attr.grh.flow_label = ip.flow_label;
  } else {
    const auto ip = wire::Ipv4Header::parse(bytes + sizeof grh - wire::Ipv4Header::kSize);
    source = Gid::from(ip.source);
    destination = Gid::from(ip.destination);
    attr.grh.traffic_class = ip.tos;
  }
  const auto& gids = state_->gids;
  auto own = std::find(gids.begin(), gids.end(), destination);
  if (own == gids.end() && is_multicast(destination)) {
    own = std::find_if(gids.begin(), gids.end(), [&source](const Gid& gid) {
      return gid.is_ipv4() == source.is_ipv4() &&
             gid.ipv6().is_link_local() == source.ipv6().is_link_local();
    });
  }
  if (own == gids.end()) {
    return failure(EINVAL, "the datagram was sent to " + text_of(destination) +
                               ", which is none of this device's GIDs; give the GRH at the start "
                               "of the receive buffer");
  }
  attr.is_global = 1;
  attr.port_num = port_num;
  attr.grh.sgid_index = static_cast<uint8_t>(own - gids.begin());
  attr.grh.hop_limit = kDefaultHopLimit;
  std::memcpy(attr.grh.dgid.raw, source.bytes.data(), sizeof attr.grh.dgid.raw);
  return attr;
}

}  // namespace roce::verbs
