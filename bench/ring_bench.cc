// SpscRing: cost of an element in one thread, and of a round trip between two.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <thread>

#include <benchmark/benchmark.h>

#include "ring/spsc_ring.h"

namespace {

/// About the size of a work request.
struct Element {
  std::array<uint64_t, 8> words;
};

/// Push a batch, publish, look at it, pop it; all in one thread, as a run-to-completion engine
/// does.
void ring_same_thread(benchmark::State& state) {
  const auto batch = static_cast<size_t>(state.range(0));
  roce::SpscRing<Element> ring(256);
  Element element{};
  for ([[maybe_unused]] auto _ : state) {
    for (size_t i = 0; i < batch; ++i) {
      element.words[0] += i;
      ring.push(element);
    }
    ring.publish();
    const size_t n = ring.available(batch);
    for (size_t i = 0; i < n; ++i) {
      benchmark::DoNotOptimize(ring.front(i).words[0]);
    }
    ring.pop(n);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

/// Polling an empty ring.
void ring_poll_empty(benchmark::State& state) {
  roce::SpscRing<Element> ring(256);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(ring.available());
  }
}

/// One value there and back between two threads.
void ring_round_trip(benchmark::State& state) {
  roce::SpscRing<uint64_t> there(64);
  roce::SpscRing<uint64_t> back(64);
  std::atomic<bool> stop = false;
  std::thread echo([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      if (there.available() != 0) {
        back.push(there.front());
        back.publish();
        there.pop();
      }
    }
  });
  uint64_t value = 0;
  for ([[maybe_unused]] auto _ : state) {
    there.push(++value);
    there.publish();
    while (back.available() == 0) {
    }
    benchmark::DoNotOptimize(back.front());
    back.pop();
  }
  stop = true;
  echo.join();
}

BENCHMARK(ring_same_thread)->Name("ring/64B_element/batch")->Arg(1)->Arg(8)->Arg(32);
BENCHMARK(ring_poll_empty)->Name("ring/poll_empty");
BENCHMARK(ring_round_trip)->Name("ring/round_trip/two_threads")->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
