// Cost of the CRC-32 kernels, alone and with a copy, beside ISA-L and memcpy; and of the invariant
// CRC's header part. "dependent" benches feed each result into the next call and so show the
// latency of one call; the others show the rate of independent calls, as over a burst of packets.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstring>
#include <string>

#include <benchmark/benchmark.h>
#include <isa-l/crc.h>

#include "wire/crc32.h"
#include "wire/icrc.h"

namespace {

using roce::wire::CrcFunctions;
using roce::wire::CrcKernel;

constexpr std::array<int64_t, 9> kSizes{8, 16, 40, 48, 64, 68, 256, 1024, 4096};

constexpr size_t kMaxPacket = 4096 + 64;
// Aligned, since an input that crosses a page may take another path.
alignas(4096) std::array<uint8_t, kMaxPacket> source;
alignas(4096) std::array<uint8_t, kMaxPacket> destination;

// Source and destination of a run; both stay in the first-level cache.
struct Buffers {
  explicit Buffers(benchmark::State& state) : len(static_cast<size_t>(state.range(0))) {
    source.fill(0x5a);
  }
  void finish(benchmark::State& state) const {
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(len));
  }
  size_t len;
  uint8_t* src = source.data();
  uint8_t* dst = destination.data();
};

void update(benchmark::State& state, const CrcFunctions* crc) {
  Buffers b(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(crc->update(roce::wire::kCrc32Start, b.src, b.len));
  }
  b.finish(state);
}

void update_dependent(benchmark::State& state, const CrcFunctions* crc) {
  Buffers b(state);
  uint32_t r = roce::wire::kCrc32Start;
  for (auto _ : state) {
    r = crc->update(r, b.src, b.len);
  }
  benchmark::DoNotOptimize(r);
  b.finish(state);
}

void copy(benchmark::State& state, const CrcFunctions* crc) {
  Buffers b(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(crc->copy(roce::wire::kCrc32Start, b.dst, b.src, b.len));
    benchmark::ClobberMemory();
  }
  b.finish(state);
}

void isal(benchmark::State& state) {
  Buffers b(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(crc32_gzip_refl(0, b.src, b.len));
  }
  b.finish(state);
}

void isal_dependent(benchmark::State& state) {
  Buffers b(state);
  uint32_t r = 0;
  for (auto _ : state) {
    r = crc32_gzip_refl(r, b.src, b.len);
  }
  benchmark::DoNotOptimize(r);
  b.finish(state);
}

void copy_then_isal(benchmark::State& state) {
  Buffers b(state);
  for (auto _ : state) {
    std::memcpy(b.dst, b.src, b.len);
    benchmark::DoNotOptimize(crc32_gzip_refl(0, b.dst, b.len));
    benchmark::ClobberMemory();
  }
  b.finish(state);
}

void plain_memcpy(benchmark::State& state) {
  Buffers b(state);
  for (auto _ : state) {
    std::memcpy(b.dst, b.src, b.len);
    benchmark::ClobberMemory();
  }
  b.finish(state);
}

// `len` bytes of headers, the IP version as given.
void headers(benchmark::State& state, uint8_t version, size_t len) {
  source.fill(0x5a);
  source[0] = static_cast<uint8_t>(version << 4 | 5);
  for (auto _ : state) {
    benchmark::DoNotOptimize(roce::wire::icrc_of_headers(source.data(), len));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(len));
}

void whole_packet(benchmark::State& state) {
  Buffers b(state);  // the range is the payload's length: IPv4, UDP, BTH and ICRC come on top
  b.src[0] = 0x45;
  for (auto _ : state) {
    benchmark::DoNotOptimize(roce::wire::icrc_ok(b.src, b.len + 44));
  }
  b.finish(state);
}

void add_sizes(benchmark::internal::Benchmark* bench) {
  for (const int64_t size : kSizes) {
    bench->Arg(size);
  }
}

void register_all() {
  for (const CrcKernel kernel : roce::wire::kCrcKernels) {
    if (!roce::wire::supported(kernel)) {
      continue;
    }
    const CrcFunctions* crc = &roce::wire::crc_functions(kernel);
    const std::string name = roce::wire::name(kernel);
    benchmark::RegisterBenchmark((name + "/update").c_str(), update, crc)->Apply(add_sizes);
    benchmark::RegisterBenchmark((name + "/dependent").c_str(), update_dependent, crc)
        ->Apply(add_sizes);
    benchmark::RegisterBenchmark((name + "/copy").c_str(), copy, crc)->Apply(add_sizes);
  }
  benchmark::RegisterBenchmark("isal/update", isal)->Apply(add_sizes);
  benchmark::RegisterBenchmark("isal/dependent", isal_dependent)->Apply(add_sizes);
  benchmark::RegisterBenchmark("isal/memcpy_first", copy_then_isal)->Apply(add_sizes);
  benchmark::RegisterBenchmark("memcpy", plain_memcpy)->Apply(add_sizes);
  benchmark::RegisterBenchmark("icrc_of_headers/ipv4_bth", headers, uint8_t{4}, size_t{40});
  benchmark::RegisterBenchmark("icrc_of_headers/ipv4_bth_reth", headers, uint8_t{4}, size_t{56});
  benchmark::RegisterBenchmark("icrc_of_headers/ipv6_bth_reth", headers, uint8_t{6}, size_t{76});
  benchmark::RegisterBenchmark("icrc_ok/ipv4_payload", whole_packet)->Apply(add_sizes);
}

}  // namespace

int main(int argc, char** argv) {
  register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
