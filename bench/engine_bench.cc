// Two whole devices on a loopback link in one thread: what a message costs on both sides together,
// with no device driver, no second core and no wire between them. Buffers cross by pointer.
//
// An item is one message. The counter s/message/side is the time of one message on one of the two
// sides, posting and polling of completions included.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>

#include <benchmark/benchmark.h>

#include "bursts.h"

namespace {

using roce::bench::Bursts;
using roce::bench::kReads;

constexpr uint32_t kLargest = 1u << 20;

void transfer(benchmark::State& state, ibv_wr_opcode opcode, uint32_t size, uint32_t burst) {
  Bursts bursts(opcode, size, burst);
  for ([[maybe_unused]] auto _ : state) {
    if (!bursts.run()) {
      state.SkipWithError("a message failed");
      break;
    }
  }
  const auto messages = state.iterations() * int64_t{burst};
  state.SetItemsProcessed(messages);
  state.SetBytesProcessed(messages * int64_t{size});
  state.counters["s/message/side"] = benchmark::Counter(
      static_cast<double>(2 * messages), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// A poll of each side that finds nothing to do. An item is one poll.
void poll_idle(benchmark::State& state) {
  Bursts bursts(IBV_WR_SEND, 64, 1);
  for ([[maybe_unused]] auto _ : state) {
    bursts.poll_both();
  }
  state.SetItemsProcessed(2 * state.iterations());
}

struct Case {
  const char* name;
  ibv_wr_opcode opcode;
  uint32_t size;
  uint32_t burst;
};

constexpr Case kCases[] = {
    {"engine/send_64B/burst1", IBV_WR_SEND, 64, 1},
    {"engine/send_64B/burst32", IBV_WR_SEND, 64, 32},
    {"engine/send_64B/burst256", IBV_WR_SEND, 64, 256},
    {"engine/write_64B/burst1", IBV_WR_RDMA_WRITE, 64, 1},
    {"engine/write_64B/burst32", IBV_WR_RDMA_WRITE, 64, 32},
    {"engine/write_64B/burst256", IBV_WR_RDMA_WRITE, 64, 256},
    {"engine/read_64B/burst16", IBV_WR_RDMA_READ, 64, kReads},
    {"engine/send_1MiB_pmtu4096", IBV_WR_SEND, kLargest, 1},
    {"engine/write_1MiB_pmtu4096", IBV_WR_RDMA_WRITE, kLargest, 1},
    {"engine/read_1MiB_pmtu4096", IBV_WR_RDMA_READ, kLargest, 1},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Case& c : kCases) {
    benchmark::RegisterBenchmark(c.name, transfer, c.opcode, c.size, c.burst);
  }
  benchmark::RegisterBenchmark("engine/poll_idle", poll_idle);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
