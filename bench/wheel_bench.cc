// TimerWheel: the costs an engine pays a poll (nothing due), an arm, and an expiry.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "engine/timer_wheel.h"

namespace {

using roce::Duration;
using roce::Instant;
using roce::TimerWheel;

/// A wheel with `count` timers spread over 100 ms, as retransmission timers of as many QPs are.
TimerWheel spread_wheel(uint32_t count) {
  TimerWheel wheel(count, Instant{});
  std::mt19937_64 random(1);
  for (uint32_t id = 0; id < count; ++id) {
    wheel.arm(id, Instant{1'000'000 + random() % 100'000'000});
  }
  return wheel;
}

void advance_nothing_due(benchmark::State& state) {
  TimerWheel wheel = spread_wheel(static_cast<uint32_t>(state.range(0)));
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(wheel.advance(
        Instant{500'000}, [](uint32_t) {}, SIZE_MAX));
  }
}

void advance_an_hour_with_nothing_armed(benchmark::State& state) {
  TimerWheel wheel(1024, Instant{});
  Instant now{};
  for ([[maybe_unused]] auto _ : state) {
    now = now + Duration::from_s(3600);
    benchmark::DoNotOptimize(wheel.advance(
        now, [](uint32_t) {}, SIZE_MAX));
  }
}

/// Moving a timer that is armed already, to random distances up to 16 ms.
void arm_again(benchmark::State& state) {
  const auto count = static_cast<uint32_t>(state.range(0));
  TimerWheel wheel = spread_wheel(count);
  std::vector<Instant> deadlines(4096);
  std::mt19937_64 random(2);
  for (Instant& deadline : deadlines) {
    deadline = Instant{1'000'000 + random() % 16'000'000};
  }
  uint32_t id = 0;
  size_t i = 0;
  for ([[maybe_unused]] auto _ : state) {
    wheel.arm(id, deadlines[i++ % deadlines.size()]);
    id = id + 1 == count ? 0 : id + 1;
  }
}

/// The whole life of a timer: armed 1 ms ahead, moved down the levels, expired, armed again.
void expire_and_arm_again(benchmark::State& state) {
  TimerWheel wheel = spread_wheel(static_cast<uint32_t>(state.range(0)));
  Instant now{};
  int64_t expired = 0;
  for ([[maybe_unused]] auto _ : state) {
    now = now + Duration::from_us(1);
    expired += static_cast<int64_t>(wheel.advance(
        now, [&](uint32_t id) { wheel.arm(id, now + Duration::from_ms(1)); }, SIZE_MAX));
  }
  state.SetItemsProcessed(expired);
}

BENCHMARK(advance_nothing_due)->Name("wheel/advance/nothing_due/timers")->Arg(1)->Arg(4096);
BENCHMARK(advance_an_hour_with_nothing_armed)->Name("wheel/advance/an_hour_empty");
BENCHMARK(arm_again)->Name("wheel/arm_again/timers")->Arg(16)->Arg(4096);
BENCHMARK(expire_and_arm_again)->Name("wheel/expire_and_arm/timers")->Arg(16)->Arg(4096);

}  // namespace

BENCHMARK_MAIN();
