// Device: one ethdev with its queue pairs and the buffer pools behind them: set-up, what the device
// can carry, and the way back. No data path. Owners: the DpdkPorts of its queues.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "base/result.h"
#include "port/dpdk/dpdk_port.h"

namespace roce::dpdk {

inline constexpr uint32_t kMaxSegments = 8;  ///< of a gathered frame, whatever the device can

class Device {
 public:
  Device() = default;
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Finds, checks, configures and starts the device. Call once; after an error destroy.
  Status open(const DpdkPortConfig& config, uint16_t queues);

  /// Stops the device and returns its buffers. Returns true when every buffer came back, and the
  /// pools wait for the next device of their size; else a peer in this process still holds some and
  /// the pools stay for ever.
  bool close();

  uint16_t id() const { return id_; }
  uint16_t queues() const { return queues_; }
  rte_mempool* rx_pool() const { return rx_pool_; }
  rte_mempool* tx_pool() const { return tx_pool_; }
  rte_mempool* segment_pool() const { return segment_pool_; }  ///< null when max_segments() is 0
  uint32_t max_segments() const { return max_segments_; }
  const MacAddress& mac() const { return mac_; }

 private:
  Status find(const DpdkPortConfig& config);
  Status check_mtu(uint32_t mtu) const;
  Status configure(const DpdkPortConfig& config);
  Status create_pools(const DpdkPortConfig& config);
  Status create_pool(rte_mempool*& pool, const char* kind, uint32_t buffers, uint32_t room) const;
  Status check_queues() const;
  Status set_up_queue(uint16_t queue, unsigned node);
  Status start_queues();
  Status choose_mac(const DpdkPortConfig& config);
  uint32_t buffer_room(uint32_t mtu) const;
  uint32_t count_segments() const;
  bool is_driver(const char* driver) const;
  std::string argument(const std::string& key) const;
  uint32_t slot_size(const std::string& key) const;
  tl::unexpected<Error> refuse(int rc, const std::string& what) const;

  std::string name_;
  std::string arguments_;  // what the device was created with
  uint16_t id_ = 0;
  uint64_t owner_ = 0;  // 0: not ours
  uint16_t queues_ = 1;
  bool open_ = false;  // configured: must be closed
  rte_eth_dev_info info_{};
  uint16_t rx_descriptors_ = 0;
  uint16_t tx_descriptors_ = 0;
  uint32_t max_segments_ = 0;
  MacAddress mac_;
  rte_mempool* rx_pool_ = nullptr;
  rte_mempool* tx_pool_ = nullptr;
  rte_mempool* segment_pool_ = nullptr;
};

}  // namespace roce::dpdk
