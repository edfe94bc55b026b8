// Counters of the kernel, one a thread and event.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/processor_counts.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace uroce::app {
namespace {

/// What read(2) gives: the count, and how long it was wanted and counted. The processor takes turns
/// when more is to be counted than it has counters for.
struct Reading {
  uint64_t count;
  uint64_t enabled;
  uint64_t running;
};

std::vector<int> own_threads() {
  std::vector<int> threads;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    const std::string name = entry.path().filename().string();
    int thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    threads.push_back(thread);
  }
  return threads;
}

std::optional<double> sum(const std::vector<int>& counters) {
  double all = 0;
  for (const int counter : counters) {
    Reading reading{};
    if (::read(counter, &reading, sizeof reading) != sizeof reading) {
      return std::nullopt;
    }
    if (reading.running > 0) {
      all += static_cast<double>(reading.count) * static_cast<double>(reading.enabled) /
             static_cast<double>(reading.running);
    }
  }
  return all;
}

}  // namespace

ProcessorCounts ProcessorCounts::hardware() {
  return {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
          {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS}};
}

ProcessorCounts::ProcessorCounts(const Event& cycles, const Event& instructions) {
  for (const int thread : own_threads()) {
    open(thread, cycles, cycles_);
    open(thread, instructions, instructions_);
  }
  complete_ = complete_ && !cycles_.empty();
}

ProcessorCounts::ProcessorCounts(ProcessorCounts&& other) noexcept
    : cycles_(std::exchange(other.cycles_, {})),
      instructions_(std::exchange(other.instructions_, {})),
      complete_(other.complete_) {}

ProcessorCounts::~ProcessorCounts() {
  close_all();
}

void ProcessorCounts::open(int thread, const Event& event, std::vector<int>& into) {
  if (!complete_) {
    return;
  }
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = event.type;
  attr.config = event.config;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attr.exclude_kernel = attr.exclude_hv = 1;
  const auto counter =
      static_cast<int>(::syscall(SYS_perf_event_open, &attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (counter < 0) {
    complete_ = false;
    return;
  }
  into.push_back(counter);
}

void ProcessorCounts::close_all() {
  for (const auto* counters : {&cycles_, &instructions_}) {
    for (const int counter : *counters) {
      ::close(counter);
    }
  }
}

std::optional<ProcessorCounts::Spent> ProcessorCounts::spent() const {
  if (!complete_) {
    return std::nullopt;
  }
  const auto cycles = sum(cycles_);
  const auto instructions = sum(instructions_);
  if (!cycles || !instructions) {
    return std::nullopt;
  }
  return Spent{*cycles, *instructions};
}

}  // namespace uroce::app
