// Builds EAL's argument vector, and turns what can be foreseen to fail into sentences before EAL
// turns it into a page of usage text.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/dpdk/eal.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "port/dpdk/log_capture.h"
#include "port/dpdk/sigpipe_guard.h"

namespace roce {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kMinMemoryMb = 64;
constexpr uint32_t kMaxMemoryMb = 256 * 1024;

enum class State { fresh, running, spent };
std::atomic<State> eal_state{State::fresh};

// EAL keeps pointers into its arguments for as long as it runs. Never destroyed: a static object
// may stop it after the statics of this file.
std::vector<std::string>& arguments() {
  static auto& args = *new std::vector<std::string>;
  return args;
}

std::string error_text(int code) {
  return std::generic_category().message(code);
}

std::string extra_argument_hint(const EalConfig& config) {
  std::string text;
  for (const std::string& arg : config.extra_args) {
    text += " " + arg;
  }
  return text.empty() ? text : "; the extra arguments were:" + text;
}

std::string own_prefix() {
  return "uroce-" + std::to_string(::getpid());
}

std::vector<unsigned> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<unsigned> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) {
    return cpus;
  }
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) {
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

std::string join(const std::vector<unsigned>& values) {
  std::string text;
  for (const unsigned v : values) {
    text += text.empty() ? "" : ",";
    text += std::to_string(v);
  }
  return text;
}

uint64_t free_hugepage_mb() {
  uint64_t total_kb = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/kernel/mm/hugepages", error)) {
    // The folder is named after the page size: hugepages-2048kB.
    constexpr size_t kSkip = sizeof "hugepages-" - 1;
    const std::string name = entry.path().filename().string();
    uint64_t pages = 0;
    if (name.size() > kSkip && std::ifstream(entry.path() / "free_hugepages") >> pages) {
      total_kb += pages * std::strtoull(name.c_str() + kSkip, nullptr, 10);
    }
  }
  return total_kb / 1024;
}

Status check_cpus(const EalConfig& config) {
  const std::vector<unsigned> allowed = allowed_cpus();
  for (const unsigned cpu : config.cpus) {
    if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) {
      return failure(EINVAL, "CPU " + std::to_string(cpu) +
                                 " is not available to this process; choose from " + join(allowed));
    }
    if (std::count(config.cpus.begin(), config.cpus.end(), cpu) > 1) {
      return failure(EINVAL, "CPU " + std::to_string(cpu) + " is named twice; name each once");
    }
  }
  return {};
}

Status check_memory(const EalConfig& config) {
  if (config.memory_mb < kMinMemoryMb || config.memory_mb > kMaxMemoryMb) {
    return failure(EINVAL, "memory of " + std::to_string(config.memory_mb) + " MB is outside " +
                               std::to_string(kMinMemoryMb) + ".." + std::to_string(kMaxMemoryMb) +
                               " MB; 512 MB serve two ports of 9000-byte frames");
  }
  if (!config.hugepages) {
    return {};
  }
  const uint64_t free_mb = free_hugepage_mb();
  if (free_mb < config.memory_mb) {
    return failure(ENOMEM, "hugepages are asked for, " + std::to_string(config.memory_mb) +
                               " MB, but only " + std::to_string(free_mb) +
                               " MB are free; reserve some (as root: sysctl vm.nr_hugepages=" +
                               std::to_string(config.memory_mb / 2) + ") or run without");
  }
  return {};
}

Status check_names(const EalConfig& config) {
  if (config.file_prefix.find('/') != std::string::npos || config.file_prefix.size() > 64) {
    return failure(EINVAL, "file prefix '" + config.file_prefix +
                               "' must be at most 64 characters without '/'");
  }
  for (const auto* list : {&config.vdevs, &config.pci_allow}) {
    if (std::any_of(list->begin(), list->end(), [](const auto& s) { return s.empty(); })) {
      return failure(EINVAL, "an empty device description; give a name or leave it out");
    }
  }
  return {};
}

void add_memory_arguments(const EalConfig& config, std::vector<std::string>& args) {
  if (config.hugepages) {
    // No hugetlbfs mount needed; one file, since virtio_user and memif hand it to their peer.
    args.insert(args.end(), {"--in-memory", "--single-file-segments"});
  } else {
    // No files for secondary processes: one that is killed would leave 6 MB of them behind.
    args.insert(args.end(), {"--no-huge", "--no-shconf", "-m", std::to_string(config.memory_mb)});
  }
}

void add_cpu_arguments(const EalConfig& config, std::vector<std::string>& args) {
  if (config.cpus.empty()) {
    // One lcore that floats over all CPUs the caller may use: nothing gets pinned.
    args.insert(args.end(), {"--lcores", "0@(" + join(allowed_cpus()) + ")"});
    return;
  }
  std::string map;
  for (size_t i = 0; i < config.cpus.size(); ++i) {
    map += map.empty() ? "" : ",";
    map += std::to_string(i) + "@" + std::to_string(config.cpus[i]);
  }
  args.insert(args.end(), {"--lcores", map});
}

bool has_512_bit_vectors() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

std::vector<std::string> build_arguments(const EalConfig& config) {
  std::vector<std::string> args{"uroce", "--file-prefix",
                                config.file_prefix.empty() ? own_prefix() : config.file_prefix};
  add_memory_arguments(config, args);
  add_cpu_arguments(config, args);
  if (config.pci_allow.empty()) {
    args.emplace_back("--no-pci");
  }
  for (const std::string& address : config.pci_allow) {
    args.insert(args.end(), {"-a", address});
  }
  for (const std::string& vdev : config.vdevs) {
    args.push_back("--vdev=" + vdev);
  }
  if (config.wide_simd && has_512_bit_vectors()) {
    args.emplace_back("--force-max-simd-bitwidth=512");
  }
  if (!config.telemetry) {
    args.emplace_back("--no-telemetry");
  }
  if (!config.verbose) {
    args.emplace_back("--log-level=error");
  }
  args.insert(args.end(), config.extra_args.begin(), config.extra_args.end());
  return args;
}

int init_eal(bool verbose) {
  std::vector<char*> argv;
  for (std::string& arg : arguments()) {
    argv.push_back(arg.data());
  }
  const auto argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  dpdk::capture_log(verbose);
  dpdk::clear_log();
  const dpdk::SilencedStdio silence;
  // Its threads keep the signal blocked as well.
  const dpdk::SigpipeGuard guard;
  return rte_eal_init(argc, argv.data());
}

// EAL starts even when a device that was asked for cannot be made; a port needs all of them.
Status check_devices(const EalConfig& config) {
  const std::vector<std::string> present = device_names();
  const auto missing = [&](const std::string& name) {
    return std::none_of(present.begin(), present.end(), [&](const std::string& device) {
      return device == name || (name.find(':') != std::string::npos &&
                                device.find(name) != std::string::npos);  // domain left out
    });
  };
  for (const auto* list : {&config.vdevs, &config.pci_allow}) {
    for (const std::string& description : *list) {
      if (missing(description.substr(0, description.find(',')))) {
        return failure(ENODEV, dpdk::with_log("no network device comes of '" + description + "'"));
      }
    }
  }
  return {};
}

// Their drivers' own way out: sockets are unlinked, kernel interfaces go.
void remove_devices() {
  for (uint16_t id = rte_eth_find_next(0); id < RTE_MAX_ETHPORTS;
       id = rte_eth_find_next(static_cast<uint16_t>(id + 1))) {
    rte_eth_dev_info info{};
    if (rte_eth_dev_info_get(id, &info) == 0 && info.device != nullptr) {
      rte_dev_remove(info.device);
    }
  }
}

// Only a directory that is certainly the one EAL made for this process goes.
void remove_runtime_directory(const fs::path& directory, const std::string& prefix) {
  if (directory.filename() == prefix && directory.parent_path().filename() == "dpdk") {
    std::error_code ignored;
    fs::remove_all(directory, ignored);
  }
}

/// A thread's place among DPDK's, given back when the thread ends.
class PortThread {
 public:
  PortThread() = default;
  ~PortThread() {
    if (registered_ && eal_state.load() == State::running) {
      rte_thread_unregister();
    }
  }
  PortThread(const PortThread&) = delete;
  PortThread& operator=(const PortThread&) = delete;

  bool register_once() {
    registered_ = rte_thread_register() == 0;
    return registered_;
  }

 private:
  bool registered_ = false;
};

}  // namespace

Status start_eal(const EalConfig& config) {
  if (eal_state.load() != State::fresh) {
    return failure(EALREADY, "DPDK was started before in this process; it can be started once");
  }
  for (const auto check : {check_cpus, check_memory, check_names}) {
    if (Status status = check(config); !status) {
      return status;
    }
  }
  if (eal_state.exchange(State::spent) != State::fresh) {
    return failure(EALREADY, "DPDK is being started by another thread of this process");
  }
  arguments() = build_arguments(config);
  if (init_eal(config.verbose) < 0) {
    const int code = rte_errno != 0 ? rte_errno : EINVAL;
    remove_runtime_directory(rte_eal_get_runtime_dir(), arguments()[2]);
    return failure(code, dpdk::with_log("DPDK does not start (" + error_text(code) + ")") +
                             extra_argument_hint(config));
  }
  eal_state = State::running;
  Status status = check_devices(config);
  if (!status) {
    stop_eal();
  }
  return status;
}

void stop_eal() {
  if (eal_state.load() != State::running) {
    return;
  }
  eal_state = State::spent;
  // Not rte_eal_cleanup(): in 22.11 it unmaps the memory while EAL's interrupt thread still looks
  // at handles in it, and a peer that leaves in that moment ends this process with SIGSEGV.
  const dpdk::SigpipeGuard guard;
  remove_devices();
  remove_runtime_directory(rte_eal_get_runtime_dir(), arguments()[2]);
}

bool register_port_thread() {
  thread_local PortThread own;
  return eal_state.load() == State::running &&
         (rte_lcore_id() != LCORE_ID_ANY || own.register_once());
}

Status add_device(const std::string& description) {
  if (eal_state.load() != State::running) {
    return failure(ENODEV, "DPDK is not running; call start_eal() first");
  }
  dpdk::clear_log();
  const dpdk::SilencedStdio silence;
  const dpdk::SigpipeGuard guard;
  const int rc = rte_dev_probe(description.c_str());
  if (rc != 0) {
    return failure(-rc, dpdk::with_log("cannot create device '" + description + "' (" +
                                       error_text(-rc) + ")"));
  }
  return {};
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  if (eal_state.load() != State::running) {
    return names;
  }
  // Not RTE_ETH_FOREACH_DEV, which leaves out the devices that a port has open.
  for (uint16_t id = rte_eth_find_next(0); id < RTE_MAX_ETHPORTS;
       id = rte_eth_find_next(static_cast<uint16_t>(id + 1))) {
    std::array<char, RTE_ETH_NAME_MAX_LEN> name{};
    if (rte_eth_dev_get_name_by_port(id, name.data()) == 0) {
      names.emplace_back(name.data());
    }
  }
  return names;
}

}  // namespace roce
