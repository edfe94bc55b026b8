// Device: creation, drive and queries.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <roce/verbs.h>

#include "address.h"
#include "base/limits.h"
#include "compat.h"
#include "objects.h"

namespace roce::verbs {
namespace {

constexpr uint8_t kPortNum = 1;
constexpr uint32_t kVendorId = 0x02'0000;  // among the locally administered ones: nobody's
constexpr uint32_t kMaxWindow = 65'536;
constexpr uint8_t kLocalAckDelay = 15;  // code, as Soft-RoCE says: 134 ms

/// EUI-64 of the MAC address, in network byte order as ibv_device_attr has it.
__be64 guid_of(const MacAddress& mac) {
  const Ipv6Address address = link_local_address(mac);
  __be64 guid;
  std::memcpy(&guid, address.bytes.data() + 8, sizeof guid);
  return guid;
}

Status check_port(uint8_t port_num) {
  if (port_num != kPortNum) {
    return failure(EINVAL, "port " + std::to_string(port_num) + " does not exist; use port 1");
  }
  return {};
}

Status check_config(const DeviceConfig& config) {
  if (config.window_packets == 0 || config.window_packets > kMaxWindow) {
    return failure(EINVAL, "a window of " + std::to_string(config.window_packets) +
                               " packets; allowed are 1.." + std::to_string(kMaxWindow));
  }
  if (config.pkeys.empty() || config.pkeys.size() > kMaxPkeys) {
    return failure(EINVAL, "a P_Key table of " + std::to_string(config.pkeys.size()) +
                               " entries; allowed are 1.." + std::to_string(kMaxPkeys));
  }
  return {};
}

}  // namespace

Device::Device(std::shared_ptr<detail::DeviceState> state) : state_(std::move(state)) {}

/// Objects that the application has left behind keep the state alive; the engine must not run on,
/// since its port goes.
Device::~Device() {
  state_->driver.retire();
}

Result<std::unique_ptr<Device>> Device::create(Port& port, Clock& clock, const EngineConfig& engine,
                                               DeviceConfig config) {
  if (const Status s = check_config(config); !s) {
    return tl::make_unexpected(s.error());
  }
  if (port.info().mtu < kMinPmtu + kPacketOverhead) {
    return failure(EINVAL, "port " + port.info().name + " has an MTU of " +
                               std::to_string(port.info().mtu) + "; RoCEv2 needs at least " +
                               std::to_string(kMinPmtu + kPacketOverhead));
  }
  EngineConfig with_link_local = engine;
  LocalAddresses& addresses = with_link_local.addresses;
  addresses = LocalAddresses{};
  addresses.mac = engine.addresses.mac;
  addresses.vlan = engine.addresses.vlan;
  const Gid link_local = Gid::from(link_local_address(addresses.mac));
  Status added = addresses.add(link_local, 64);
  for (const auto& entry : engine.addresses.entries()) {
    if (added && entry.gid != link_local) {
      added = addresses.add(entry.gid, entry.prefix_length);
    }
  }
  if (!added) {
    return tl::make_unexpected(added.error());
  }
  auto state =
      std::make_shared<detail::DeviceState>(port, clock, with_link_local, std::move(config));
  if (const Status s = state->engine.set_up_neighbours(engine); !s) {
    return tl::make_unexpected(s.error());
  }
  return std::unique_ptr<Device>(new Device(std::move(state)));
}

void Device::poll() {
  state_->driver.poll();
}
Instant Device::next_event() const {
  return state_->engine.next_event(state_->engine.now());
}
Status Device::start_thread(int cpu, std::function<void()> on_start) {
  return state_->driver.start_thread(cpu, std::move(on_start));
}
Status Device::start_helper(std::function<void()> on_start) {
  return state_->driver.start_helper(std::move(on_start));
}
void Device::stop_thread() {
  state_->driver.stop_thread();
}

ibv_device_attr Device::query_device() const {
  const TableSizes& tables = state_->tables;
  ibv_device_attr attr{};
  std::strncpy(attr.fw_ver, "uroce", sizeof attr.fw_ver - 1);
  attr.vendor_id = kVendorId;
  attr.vendor_part_id = 1;
  attr.max_mr_size = UINT64_MAX;
  attr.page_size_cap = 0xfffff000;
  attr.max_qp = static_cast<int>(tables.max_qp);
  attr.max_qp_wr = kMaxQpWr;
  attr.max_sge = attr.max_sge_rd = kMaxSge;
  attr.max_cq = static_cast<int>(tables.max_cq);
  attr.max_cqe = kMaxCqe;
  attr.max_mr = static_cast<int>(tables.max_mr);
  attr.max_pd = static_cast<int>(tables.max_pd);
  attr.max_qp_rd_atom = attr.max_qp_init_rd_atom = kMaxRdAtomic;
  attr.max_res_rd_atom = static_cast<int>(kMaxRdAtomic * tables.max_qp);
  attr.max_mw = attr.max_mr;
  attr.max_ah = static_cast<int>(tables.max_ah);
  attr.max_srq = static_cast<int>(tables.max_srq);
  attr.max_srq_wr = kMaxSrqWr;
  attr.max_srq_sge = kMaxSge;
  attr.max_mcast_grp = kMaxMulticastGroups;
  attr.max_mcast_qp_attach = kMaxMulticastQps;
  attr.max_total_mcast_qp_attach = kMaxMulticastGroups * kMaxMulticastQps;
  attr.local_ca_ack_delay = kLocalAckDelay;
  attr.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_RC_RNR_NAK_GEN |
                          IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_N_NOTIFY_CQ | IBV_DEVICE_MEM_WINDOW |
                          IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS |
                          IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID;
  attr.node_guid = attr.sys_image_guid = guid_of(state_->engine.addresses().mac);
  attr.atomic_cap = IBV_ATOMIC_HCA;
  attr.max_pkeys = static_cast<uint16_t>(state_->config.pkeys.size());
  attr.phys_port_cnt = 1;
  return attr;
}

Result<ibv_port_attr> Device::query_port(uint8_t port_num) const {
  if (const Status s = check_port(port_num); !s) {
    return tl::make_unexpected(s.error());
  }
  ibv_port_attr attr{};
  attr.state = state_->engine.port().link_up() ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  attr.max_mtu = IBV_MTU_4096;
  attr.active_mtu = largest_pmtu(state_->engine.port().info().mtu);
  attr.gid_tbl_len = static_cast<int>(state_->gids.size());
  attr.max_msg_sz = kMaxMessage;
  attr.pkey_tbl_len = static_cast<uint16_t>(state_->config.pkeys.size());
  attr.link_layer = IBV_LINK_LAYER_ETHERNET;
  return attr;
}

Result<ibv_gid> Device::query_gid(uint8_t port_num, int index) const {
  if (const Status s = check_port(port_num); !s) {
    return tl::make_unexpected(s.error());
  }
  if (index < 0 || static_cast<size_t>(index) >= state_->gids.size()) {
    return failure(EINVAL, "GID index " + std::to_string(index) +
                               " does not exist; the table has " +
                               std::to_string(state_->gids.size()) + " entries, from 0 on");
  }
  ibv_gid gid{};
  std::memcpy(gid.raw, state_->gids[static_cast<size_t>(index)].bytes.data(), sizeof gid.raw);
  return gid;
}

Result<uint16_t> Device::query_pkey(uint8_t port_num, int index) const {
  if (const Status s = check_port(port_num); !s) {
    return tl::make_unexpected(s.error());
  }
  const std::vector<uint16_t>& pkeys = state_->config.pkeys;
  if (index < 0 || static_cast<size_t>(index) >= pkeys.size()) {
    return failure(EINVAL, "P_Key index " + std::to_string(index) +
                               " does not exist; the table has " + std::to_string(pkeys.size()) +
                               " entries, from 0 on");
  }
  return pkeys[static_cast<size_t>(index)];
}

int Device::default_gid_index() const {
  const auto& gids = state_->gids;
  const auto routable = std::find_if(gids.begin(), gids.end(),
                                     [](const Gid& g) { return !g.ipv6().is_link_local(); });
  return routable == gids.end() ? 0 : static_cast<int>(routable - gids.begin());
}

uint32_t Device::random_psn() {
  return static_cast<uint32_t>(state_->random()) & Psn::kMask;
}

bool Device::link_up() {
  bool up = false;
  state_->driver.run([&] { up = state_->engine.port().link_up(); });
  return up;
}

Instant Device::peers_may_ask_until() const {
  Instant until;
  state_->driver.run([&] { until = state_->engine.peers_may_ask_until(); });
  return until;
}

EngineCounters Device::counters() const {
  EngineCounters counters;
  state_->driver.run([&] { counters = state_->engine.counters(); });
  return counters;
}

QpCounters Device::qp_counters() const {
  QpCounters counters;
  state_->driver.run([&] { counters = state_->engine.qp_counters(); });
  return counters;
}

const PortInfo& Device::port_info() const {
  return state_->engine.port().info();
}

PortStats Device::port_stats() const {
  PortStats stats;
  state_->driver.run([&] { stats = state_->engine.port().stats(); });
  return stats;
}

}  // namespace roce::verbs
