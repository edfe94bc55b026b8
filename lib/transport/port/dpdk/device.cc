// Set-up of one device. The drivers of 22.11 differ in what they refuse and in what they carry all
// the same; every exception that was met stands here with its reason, and nowhere else.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/dpdk/device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "base/check.h"
#include "base/random.h"
#include "port/dpdk/eal.h"
#include "port/dpdk/log_capture.h"
#include "port/dpdk/pool_shelf.h"
#include "port/dpdk/sigpipe_guard.h"

namespace roce::dpdk {
namespace {

constexpr uint32_t kMinMtu = 576;
constexpr uint32_t kMaxMtu = 9728;
constexpr uint32_t kFrameOverhead = RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN + RTE_ETHER_CRC_LEN;
constexpr uint32_t kDriverHeader = 16;  // virtio counts its own header into the buffer
constexpr uint32_t kPoolCache = 512;    // DPDK's largest: with it a lone thread reuses warm buffers
constexpr uint32_t kCacheSlack = kPoolCache * 3 / 2;  // what a cache holds before it gives back
constexpr uint32_t kBurstSlack = 256;                 // in the hands of the engine
constexpr uint32_t kBufferExtra = sizeof(rte_mbuf) + RTE_CACHE_LINE_SIZE;  // beside its bytes
constexpr uint32_t kMaxBuffers = 1u << 20;
constexpr const char* kPoolKind = "stack";  // last in, first out: an idle part of a pool stays idle

// AF_XDP: a buffer with its mbuf is one chunk of 2 KB to a page, and the kernel keeps 256 bytes.
constexpr uint32_t kXdpMinRoom = 2176;
constexpr uint32_t kXdpMaxRoom = 4096 - RTE_CACHE_LINE_SIZE - sizeof(rte_mbuf);
constexpr uint32_t kXdpHeadroom = RTE_PKTMBUF_HEADROOM + 256;
// AF_PACKET: what the kernel puts before a frame within `framesz`, generously.
constexpr uint32_t kPacketOverhead = 128;
constexpr uint32_t kDefaultSlot = 2048;  // framesz and bsize where the arguments do not say

std::string list_devices() {
  std::string text;
  for (const std::string& name : device_names()) {
    text += text.empty() ? "" : ", ";
    text += name;
  }
  return text.empty() ? "none" : text;
}

/// nullptr: there is not so much memory.
rte_mempool* make_pool(const char* kind, uint32_t buffers, uint32_t room, int socket) {
  // Found out beforehand: DPDK would touch all the memory there is before it gives up.
  rte_malloc_socket_stats heap{};
  const uint64_t bytes = uint64_t{buffers} * (room + kBufferExtra);
  if (rte_eal_has_hugepages() == 0 && rte_malloc_get_socket_stats(0, &heap) == 0 &&
      bytes > heap.heap_freesz_bytes) {
    return nullptr;
  }
  static std::atomic<unsigned> count{0};
  const std::string name = "uroce_" + std::string(kind) + "_" + std::to_string(count++);
  return rte_pktmbuf_pool_create_by_ops(name.c_str(), buffers, kPoolCache, 0,
                                        static_cast<uint16_t>(room), socket, kPoolKind);
}

}  // namespace

Device::~Device() {
  close();
}

Status Device::open(const DpdkPortConfig& config, uint16_t queues) {
  ROCE_CHECK(owner_ == 0 && queues > 0);
  queues_ = queues;
  clear_log();
  const SigpipeGuard guard;
  using Step = Status (Device::*)(const DpdkPortConfig&);
  for (const Step step : {&Device::find, &Device::configure, &Device::create_pools}) {
    if (Status status = (this->*step)(config); !status) {
      return status;
    }
  }
  if (Status status = start_queues(); !status) {
    return status;
  }
  return choose_mac(config);
}

bool Device::close() {
  const SigpipeGuard guard;
  if (open_) {
    rte_eth_dev_stop(id_);
    rte_eth_dev_close(id_);
    // Leave the name free for a new device. PCI devices stay known to their bus.
    if (info_.device != nullptr && name_.find(':') == std::string::npos) {
      rte_dev_remove(info_.device);
    }
    open_ = false;
  } else if (owner_ != 0) {
    rte_eth_dev_owner_unset(id_, owner_);
  }
  owner_ = 0;
  bool all_home = true;
  for (rte_mempool** pool : {&rx_pool_, &tx_pool_, &segment_pool_}) {
    if (*pool != nullptr && rte_mempool_full(*pool) == 1) {
      keep_pool(*pool);
    } else if (*pool != nullptr) {
      all_home = false;
    }
    *pool = nullptr;
  }
  return all_home;
}

Status Device::find(const DpdkPortConfig& config) {
  name_ = config.device;
  if (rte_eth_dev_get_port_by_name(name_.c_str(), &id_) != 0) {
    return failure(ENODEV, "no device '" + name_ + "'; this process has: " + list_devices());
  }
  rte_eth_dev_owner owner{};
  if (rte_eth_dev_owner_new(&owner.id) != 0 || rte_eth_dev_owner_set(id_, &owner) != 0) {
    return failure(EBUSY, "device '" + name_ + "' is in use; close the port that has it open");
  }
  owner_ = owner.id;
  if (rte_eth_dev_info_get(id_, &info_) != 0) {
    return failure(EIO, with_log("device '" + name_ + "' does not describe itself"));
  }
  const rte_devargs* args = info_.device != nullptr ? rte_dev_devargs(info_.device) : nullptr;
  arguments_ = args != nullptr && args->args != nullptr ? args->args : "";
  if (config.rx_buffers > kMaxBuffers || config.tx_buffers > kMaxBuffers) {
    return failure(EINVAL, "device '" + name_ + "': " +
                               std::to_string(std::max(config.rx_buffers, config.tx_buffers)) +
                               " buffers for one direction are more than " +
                               std::to_string(kMaxBuffers) + "; 4095 serve most uses");
  }
  if (const Status s = check_queues(); !s) {
    return s;
  }
  return check_mtu(config.mtu);
}

Status Device::check_queues() const {
  const uint16_t most = std::min(info_.max_rx_queues, info_.max_tx_queues);
  if (queues_ > most) {
    return failure(EINVAL, "device '" + name_ + "' (" + info_.driver_name + ") has " +
                               std::to_string(most) +
                               (most == 1 ? " queue pair, not " : " queue pairs, not ") +
                               std::to_string(queues_) + "; set engine.lcores to at most " +
                               std::to_string(most));
  }
  return {};
}

bool Device::is_driver(const char* driver) const {
  return info_.driver_name != nullptr && std::strcmp(info_.driver_name, driver) == 0;
}

std::string Device::argument(const std::string& key) const {
  const std::string arguments = "," + arguments_;
  const size_t at = arguments.find("," + key + "=");
  if (at == std::string::npos) {
    return {};
  }
  const size_t value = at + key.size() + 2;
  return arguments.substr(value, arguments.find(',', value) - value);
}

uint32_t Device::slot_size(const std::string& key) const {
  const std::string text = argument(key);
  return text.empty() ? kDefaultSlot
                      : static_cast<uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
}

Status Device::check_mtu(uint32_t mtu) const {
  const auto refuse_mtu = [&](const std::string& limit, const std::string& remedy) {
    return failure(EINVAL, "device '" + name_ + "': an MTU of " + std::to_string(mtu) + " " +
                               limit + "; " + remedy);
  };
  const auto at_most = [&](uint32_t limit) {
    return refuse_mtu("is more than its " + std::to_string(limit),
                      "set mtu to at most " + std::to_string(limit));
  };
  if (mtu < kMinMtu || mtu > kMaxMtu) {
    return refuse_mtu("is outside 576..9728", "1500 and 9000 are usual");
  }
  if (info_.max_mtu != 0 && mtu > info_.max_mtu) {
    return at_most(info_.max_mtu);
  }
  constexpr uint32_t kXdpMaxMtu = kXdpMaxRoom - kXdpHeadroom - kFrameOverhead;
  if (is_driver("net_af_xdp") && mtu > kXdpMaxMtu) {
    return at_most(kXdpMaxMtu);
  }
  if (is_driver("net_af_packet") && slot_size("framesz") < mtu + kPacketOverhead) {
    const std::string size = std::to_string(std::bit_ceil(mtu + kPacketOverhead));
    return refuse_mtu("does not fit its framesz of " + std::to_string(slot_size("framesz")),
                      "create it with framesz=" + size + ",blocksz=" + size);
  }
  // memif cuts what is longer than its buffers and delivers some of it with a wrong length.
  if (is_driver("net_memif") && argument("zero-copy") != "yes" &&
      slot_size("bsize") < mtu + kFrameOverhead) {
    return refuse_mtu(
        "does not fit its bsize of " + std::to_string(slot_size("bsize")),
        "create both sides with bsize=" + std::to_string(std::bit_ceil(mtu + kFrameOverhead)));
  }
  return {};
}

// Only drivers that copy a frame while sending, or pass pointers within the process, can read
// memory that was not registered with the device. virtio_user and zero-copy memif hand out
// addresses that their peer could not resolve; PCI devices would need IOMMU mappings. With several
// queues frames go from thread to thread, in one piece.
uint32_t Device::count_segments() const {
  constexpr std::array kReaders{"net_vhost", "net_af_packet", "net_memif",
                                "net_ring",  "net_tap",       "net_null"};
  const bool reads = std::any_of(kReaders.begin(), kReaders.end(),
                                 [&](const char* driver) { return is_driver(driver); });
  if (!reads || queues_ > 1 || argument("zero-copy") == "yes" ||
      (info_.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) == 0) {
    return 0;
  }
  const uint32_t limit = info_.tx_desc_lim.nb_seg_max;  // 0: the driver names none
  return limit == 0 ? kMaxSegments : std::min(kMaxSegments, limit - 1);
}

Status Device::configure(const DpdkPortConfig& config) {
  max_segments_ = count_segments();
  rte_eth_conf conf{};
  conf.rxmode.mtu = config.mtu;
  if (max_segments_ != 0) {
    conf.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  }
  if (queues_ > 1 && (info_.flow_type_rss_offloads & RTE_ETH_RSS_NONFRAG_IPV4_UDP) != 0) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf =
        info_.flow_type_rss_offloads &
        (RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP);
  }
  int rc = rte_eth_dev_configure(id_, queues_, queues_, &conf);
  // These three state a longest frame of 1518 or 1522 bytes and carry longer ones all the same.
  const bool understates =
      is_driver("net_memif") || is_driver("net_af_packet") || is_driver("net_tap");
  if (rc == -EINVAL && config.mtu > RTE_ETHER_MTU && understates) {
    conf.rxmode.mtu = RTE_ETHER_MTU;
    rc = rte_eth_dev_configure(id_, queues_, queues_, &conf);
  }
  if (rc != 0) {
    return refuse(rc, "refuses an MTU of " + std::to_string(config.mtu) + " with " +
                          std::to_string(queues_) + " queue pairs");
  }
  open_ = true;
  rx_descriptors_ = config.rx_descriptors;
  tx_descriptors_ = config.tx_descriptors;
  rc = rte_eth_dev_adjust_nb_rx_tx_desc(id_, &rx_descriptors_, &tx_descriptors_);
  return rc == 0 ? Status{} : refuse(rc, "refuses its ring sizes");
}

uint32_t Device::buffer_room(uint32_t mtu) const {
  uint32_t bytes = mtu + kFrameOverhead + kDriverHeader + RTE_PKTMBUF_HEADROOM;
  if (is_driver("net_af_packet")) {
    bytes = std::max(bytes, slot_size("framesz") + RTE_PKTMBUF_HEADROOM);
  } else if (is_driver("net_af_xdp")) {
    bytes = std::clamp(mtu + kFrameOverhead + kXdpHeadroom, kXdpMinRoom, kXdpMaxRoom);
  }
  return std::min<uint32_t>(RTE_ALIGN_CEIL(bytes, RTE_CACHE_LINE_SIZE), UINT16_MAX);
}

Status Device::create_pools(const DpdkPortConfig& config) {
  // A driver that reclaims only while it sends can keep a whole ring, and a thread's cache keeps
  // its share: a smaller pool would run dry for ever.
  constexpr uint32_t kSlack = kCacheSlack + kBurstSlack;
  const uint32_t rx = queues_ * std::max<uint32_t>(config.rx_buffers, rx_descriptors_ + kSlack);
  const uint32_t tx = queues_ * std::max<uint32_t>(config.tx_buffers, tx_descriptors_ + kSlack);
  const uint32_t room = buffer_room(config.mtu);
  if (Status status = create_pool(rx_pool_, "rx", rx, room); !status) {
    return status;
  }
  if (Status status = create_pool(tx_pool_, "tx", tx, room); !status) {
    return status;
  }
  return max_segments_ == 0 ? Status{} : create_pool(segment_pool_, "seg", tx, 0);
}

Status Device::create_pool(rte_mempool*& pool, const char* kind, uint32_t buffers,
                           uint32_t room) const {
  const int socket = rte_eth_dev_socket_id(id_);
  pool = take_kept_pool(buffers, room, socket);
  if (pool == nullptr) {
    pool = make_pool(kind, buffers, room, socket);
  }
  if (pool == nullptr && free_kept_pools()) {
    pool = make_pool(kind, buffers, room, socket);
  }
  if (pool == nullptr) {
    return failure(ENOMEM, "device '" + name_ + "': no memory for " + std::to_string(buffers) +
                               " buffers of " + std::to_string(room) +
                               " bytes; give DPDK more memory or ask for fewer buffers");
  }
  return {};
}

Status Device::start_queues() {
  const int socket = rte_eth_dev_socket_id(id_);
  const auto node =
      socket < 0 ? static_cast<unsigned>(SOCKET_ID_ANY) : static_cast<unsigned>(socket);
  for (uint16_t queue = 0; queue < queues_; ++queue) {
    if (const Status s = set_up_queue(queue, node); !s) {
      return s;
    }
  }
  const int rc = rte_eth_dev_start(id_);
  return rc == 0 ? Status{} : refuse(rc, "does not start");
}

Status Device::set_up_queue(uint16_t queue, unsigned node) {
  int rc = rte_eth_rx_queue_setup(id_, queue, rx_descriptors_, node, nullptr, rx_pool_);
  if (rc != 0) {
    return refuse(rc, "refuses a receive ring of " + std::to_string(rx_descriptors_));
  }
  rte_eth_txconf tx = info_.default_txconf;
  tx.offloads = max_segments_ != 0 ? RTE_ETH_TX_OFFLOAD_MULTI_SEGS : 0;
  rc = rte_eth_tx_queue_setup(id_, queue, tx_descriptors_, node, &tx);
  return rc == 0 ? Status{}
                 : refuse(rc, "refuses a transmit ring of " + std::to_string(tx_descriptors_));
}

Status Device::choose_mac(const DpdkPortConfig& config) {
  rte_ether_addr own{};
  rte_eth_macaddr_get(id_, &own);
  std::copy(std::begin(own.addr_bytes), std::end(own.addr_bytes), mac_.bytes.begin());
  // Neighbour discovery needs multicast; a device without a filter refuses the call and needs none.
  rte_eth_allmulticast_enable(id_);
  if (config.mac && (config.mac->is_multicast() || *config.mac == MacAddress{})) {
    return failure(EINVAL, "device '" + name_ +
                               "': the MAC address must be an individual one: not zero, and the "
                               "lowest bit of its first byte clear");
  }
  const MacAddress device_mac = mac_;
  if (config.mac) {
    mac_ = *config.mac;
  } else if (mac_.is_multicast() || mac_ == MacAddress{}) {
    const uint64_t random = system_random()();
    std::memcpy(mac_.bytes.data(), &random, mac_.bytes.size());
    mac_.bytes[0] = static_cast<uint8_t>((mac_.bytes[0] & 0xfcu) | 0x02u);  // local, individual
  }
  if (mac_ != device_mac) {
    // Not by setting the device's address: with af_packet that would change the kernel's interface.
    rte_eth_promiscuous_enable(id_);
  }
  return {};
}

tl::unexpected<Error> Device::refuse(int rc, const std::string& what) const {
  return failure(-rc, with_log("device '" + name_ + "' (" + info_.driver_name + ") " + what + " (" +
                               std::generic_category().message(-rc) + ")"));
}

}  // namespace roce::dpdk
