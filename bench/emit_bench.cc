// Building packets: header template, patched fields, payload copied while its ICRC is computed. An
// item is one packet; everything stays in the first two cache levels.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>

#include <benchmark/benchmark.h>

#include "sample_frames.h"

namespace {

using roce::bench::SampleFrames;
using roce::wire::Operation;

void emit(benchmark::State& state, Operation operation) {
  const auto payload = static_cast<uint32_t>(state.range(0));
  SampleFrames sample;
  for ([[maybe_unused]] auto _ : state) {
    sample.fill(operation, payload);
    benchmark::ClobberMemory();
  }
  const auto packets = state.iterations() * static_cast<int64_t>(SampleFrames::kCount);
  state.SetItemsProcessed(packets);
  state.SetBytesProcessed(packets * state.range(0));
}

BENCHMARK_CAPTURE(emit, send_only, Operation::send_only)->Arg(64)->Arg(4096);
BENCHMARK_CAPTURE(emit, write_only, Operation::write_only)->Arg(64)->Arg(4096);
BENCHMARK_CAPTURE(emit, acknowledge, Operation::acknowledge)->Arg(0);

}  // namespace

BENCHMARK_MAIN();
