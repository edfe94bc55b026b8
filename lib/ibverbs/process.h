// Process: what this process has of uroce: one device, opened by the first ibv_open_device and kept
// until the process ends (DPDK starts once), and the way from the numbers in events back to
// objects. Thread: any, for every method.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <infiniband/verbs.h>
#include <roce/config.h>
#include <roce/endpoint.h>
#include <roce/verbs.h>

namespace roce::ibv {

class Process {
 public:
  static Process& get();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// The device as ibv_get_device_list shows it; nothing is opened for that.
  ibv_device* device() { return &device_; }

  /// Opens the endpoint if it is not open yet. On an error one line on stderr says why, and what
  /// to do.
  Status open();
  /// Requires open().
  Endpoint& endpoint() { return *endpoint_; }
  verbs::Device& verbs() { return endpoint_->device(); }

  /// EUI-64 in network byte order; known before the device is open.
  __be64 guid();

  /// Objects by the numbers that events carry.
  template <class Object>
  class Registry {
   public:
    void add(uint32_t number, Object* object) {
      const std::lock_guard lock(mutex_);
      objects_[number] = object;
    }
    void remove(uint32_t number) {
      const std::lock_guard lock(mutex_);
      objects_.erase(number);
    }
    Object* find(uint32_t number) {
      const std::lock_guard lock(mutex_);
      const auto at = objects_.find(number);
      return at == objects_.end() ? nullptr : at->second;
    }

   private:
    std::mutex mutex_;
    std::map<uint32_t, Object*> objects_;
  };

  Registry<ibv_qp> qps;
  Registry<ibv_cq> cqs;
  Registry<ibv_srq> srqs;

 private:
  Process();
  ~Process();
  Result<Config> load();
  Status open_at_any_side(const Config& config);

  std::mutex mutex_;
  ibv_device device_{};
  std::unique_ptr<Endpoint> endpoint_;
  pid_t opener_ = 0;  // the process that opened it
};

}  // namespace roce::ibv
