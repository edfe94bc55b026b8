// Checking received packets: the headers alone, and with the ICRC. An item is one packet;
// everything stays in the first two cache levels.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>

#include <benchmark/benchmark.h>

#include "sample_frames.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace {

using roce::Frame;
using roce::bench::SampleFrames;
using roce::wire::FrameKind;
using roce::wire::Operation;
using roce::wire::Packet;

void parse(benchmark::State& state, Operation operation, bool with_icrc) {
  SampleFrames sample;
  sample.fill(operation, static_cast<uint32_t>(state.range(0)));
  uint64_t good = 0;
  for ([[maybe_unused]] auto _ : state) {
    for (const Frame& frame : sample.frames()) {
      Packet packet;
      const auto result = roce::wire::parse({frame.data, frame.len}, packet);
      good += result.kind == FrameKind::roce &&
                      (!with_icrc || roce::wire::icrc_ok(packet.l3, packet.l3_len))
                  ? 1
                  : 0;
      benchmark::DoNotOptimize(packet);
    }
  }
  const auto packets = state.iterations() * static_cast<int64_t>(SampleFrames::kCount);
  if (good != static_cast<uint64_t>(packets)) {
    state.SkipWithError("a good packet was refused");
  }
  state.SetItemsProcessed(packets);
  state.SetBytesProcessed(packets * state.range(0));
}

BENCHMARK_CAPTURE(parse, send_only, Operation::send_only, false)->Arg(64)->Arg(4096);
BENCHMARK_CAPTURE(parse, write_only, Operation::write_only, false)->Arg(64)->Arg(4096);
BENCHMARK_CAPTURE(parse, acknowledge, Operation::acknowledge, false)->Arg(0);
BENCHMARK_CAPTURE(parse, send_only_and_icrc, Operation::send_only, true)->Arg(64)->Arg(4096);
BENCHMARK_CAPTURE(parse, write_only_and_icrc, Operation::write_only, true)->Arg(64)->Arg(4096);

}  // namespace

BENCHMARK_MAIN();
