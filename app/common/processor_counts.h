// ProcessorCounts: cycles and instructions that all threads of this process spend in user space, as
// the processor counts them (perf_event_open(2)). Many virtual machines have no such counters, and
// some hosts forbid them (kernel.perf_event_paranoid above 2): then there is nothing to read.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace uroce::app {

class ProcessorCounts {
 public:
  struct Spent {
    double cycles = 0;
    double instructions = 0;
  };
  /// What to count, by type and number of perf_event_open(2).
  struct Event {
    uint32_t type;
    uint64_t config;
  };

  /// Counts from now on, in the threads that are there now.
  static ProcessorCounts hardware();
  /// The same of any two events.
  ProcessorCounts(const Event& cycles, const Event& instructions);
  ~ProcessorCounts();
  ProcessorCounts(ProcessorCounts&& other) noexcept;
  ProcessorCounts& operator=(ProcessorCounts&&) = delete;

  /// Since the beginning; nothing when one of the counts cannot be had.
  std::optional<Spent> spent() const;

 private:
  void open(int thread, const Event& event, std::vector<int>& into);
  void close_all();

  std::vector<int> cycles_;
  std::vector<int> instructions_;
  bool complete_ = true;
};

}  // namespace uroce::app
