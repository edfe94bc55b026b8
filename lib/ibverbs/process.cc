// Opening the process's device: configuration from file and environment, the free side of the wire.
// SPDX-License-Identifier: BSD-3-Clause
#include "process.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include "net/local_addresses.h"

namespace roce::ibv {
namespace {

constexpr const char* kDeviceName = "uroce0";
constexpr const char* kUverbsName = "uroce_uverbs0";
/// How long an end that connects waits for the one that listens.
constexpr auto kWaitForWire = std::chrono::seconds(10);
constexpr auto kRetry = std::chrono::milliseconds(50);

/// A locally administered address that follows from the IP address, so that it, and the GUID with
/// it, is known before DPDK has started.
MacAddress mac_of(const Config& config) {
  if (config.port.mac) {
    return *config.port.mac;
  }
  MacAddress mac{{0x02, 0, 0, 0, 0, static_cast<uint8_t>(config.port.side)}};
  if (config.address.ipv4) {
    const auto& ip = config.address.ipv4->address.bytes;
    std::copy(ip.begin(), ip.end(), mac.bytes.begin() + 2);
  }
  return mac;
}

bool is_default(const Config& config, const char* key) {
  return origin_of(config, key) == "default";
}

/// DPDK pins the thread that starts it to one CPU; the program did not ask for that.
class KeepAffinity {
 public:
  KeepAffinity() { pthread_getaffinity_np(pthread_self(), sizeof set_, &set_); }
  ~KeepAffinity() { pthread_setaffinity_np(pthread_self(), sizeof set_, &set_); }
  KeepAffinity(const KeepAffinity&) = delete;
  KeepAffinity& operator=(const KeepAffinity&) = delete;

 private:
  cpu_set_t set_{};
};

}  // namespace

Process& Process::get() {
  static Process process;
  return process;
}

Process::Process() {
  device_.node_type = IBV_NODE_CA;
  device_.transport_type = IBV_TRANSPORT_IB;
  std::snprintf(device_.name, sizeof device_.name, "%s", kDeviceName);
  std::snprintf(device_.dev_name, sizeof device_.dev_name, "%s", kUverbsName);
  std::snprintf(device_.dev_path, sizeof device_.dev_path, "/sys/class/infiniband_verbs/%s",
                kUverbsName);
  std::snprintf(device_.ibdev_path, sizeof device_.ibdev_path, "/sys/class/infiniband/%s",
                kDeviceName);
}

/// Programs end when they have got what they wait for; their peer may not know yet that its last
/// message has arrived. A child that was forked has a picture of the endpoint only: the threads,
/// and the wire, are its parent's.
Process::~Process() {
  if (endpoint_ == nullptr) {
    return;
  }
  if (getpid() != opener_) {
    static_cast<void>(endpoint_.release());
    return;
  }
  endpoint_->linger();
}

Result<Config> Process::load() {
  ConfigSources sources;
  sources.environment = process_environment();
  Result<Config> config = load_config(sources);
  if (config && is_default(*config, "engine.drive")) {
    config->engine.drive = Drive::assisted;
  }
  if (config && config->engine.lcores != 1) {
    return failure(EINVAL, "engine.lcores = " + std::to_string(config->engine.lcores) +
                               ": a program of libibverbs sees one device; set it to 1");
  }
  return config;
}

/// Without a chosen side the first process takes side a, the next one side b.
Status Process::open_at_any_side(const Config& config) {
  Config chosen = config;
  const bool any_side = is_default(config, "port.side");
  const auto give_up = std::chrono::steady_clock::now() + kWaitForWire;
  for (;;) {
    chosen.port.mac = mac_of(chosen);
    auto opened = Endpoint::open(chosen);
    if (opened) {
      endpoint_ = std::move(*opened);
      opener_ = getpid();
      return {};
    }
    const int code = opened.error().code;
    if (code == EADDRINUSE && any_side && chosen.port.side == Side::a) {
      ConfigSources other;
      other.default_side = Side::b;
      other.environment = process_environment();
      Result<Config> reloaded = load_config(other);
      if (!reloaded) {
        return tl::make_unexpected(reloaded.error());
      }
      reloaded->engine.drive = chosen.engine.drive;
      chosen = std::move(*reloaded);
      continue;
    }
    const bool no_wire = code == ENOENT || code == ECONNREFUSED;
    if (!no_wire || chosen.port.side == Side::a || std::chrono::steady_clock::now() > give_up) {
      return tl::make_unexpected(opened.error());
    }
    std::this_thread::sleep_for(kRetry);
  }
}

Status Process::open() {
  const std::lock_guard lock(mutex_);
  if (endpoint_ != nullptr) {
    return {};
  }
  const KeepAffinity keep;
  const Result<Config> config = load();
  Status opened;
  if (config) {
    opened = open_at_any_side(*config);
  } else {
    opened = tl::make_unexpected(config.error());
  }
  if (!opened) {
    std::fprintf(stderr, "uroce: %s\n", opened.error().reason.c_str());
  }
  return opened;
}

__be64 Process::guid() {
  const std::lock_guard lock(mutex_);
  __be64 guid = 0;
  if (endpoint_ != nullptr) {
    return endpoint_->device().query_device().node_guid;
  }
  if (const Result<Config> config = load()) {
    const Ipv6Address address = link_local_address(mac_of(*config));
    std::memcpy(&guid, address.bytes.data() + 8, sizeof guid);
  }
  return guid;
}

}  // namespace roce::ibv
