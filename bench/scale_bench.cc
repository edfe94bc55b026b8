// How the cost of a message and of a queue pair grows: with the number of queue pairs of an
// endpoint, with the number of threads that drive one endpoint each, and with what is created and
// destroyed. Everything runs over loopback links, as in engine_bench.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <roce/verbs.h>

#include "loopback_side.h"
#include "port/loopback_port.h"

namespace {

namespace verbs = roce::verbs;
using roce::bench::CountingClock;
using roce::bench::Side;

constexpr uint32_t kSize = 64;  // bytes of a message
constexpr uint32_t kUnderWay = 32;
constexpr uint64_t kMostPolls = 100'000;

/// Two endpoints with `count` connected pairs of queue pairs.
class ManyPairs {
 public:
  explicit ManyPairs(uint32_t count)
      : link_({.mtu = 4200, .buffers = 1024, .queue = 512}),
        sides_{Side(link_.a(), link_.b(), clock_, 0, extent(count)),
               Side(link_.b(), link_.a(), clock_, 1, extent(count))} {
    for (auto& end : qps_) {
      end.reserve(count);
    }
    for (uint32_t i = 0; i < count; ++i) {
      qps_[0].push_back(sides_[0].create_qp());
      qps_[1].push_back(sides_[1].create_qp());
      sides_[0].connect(qps_[0][i], qps_[1][i].qpn());
      sides_[1].connect(qps_[1][i], qps_[0][i].qpn());
    }
    sge_.length = kSize;
    wr_ = roce::bench::write_between(sides_[0], sides_[1], sge_);
  }

  /// `at_once` WRITEs, each from a queue pair drawn at random; returns when all are acknowledged.
  [[gnu::noinline]] bool run(uint32_t at_once) {
    for (uint32_t i = 0; i < at_once; ++i) {
      ibv_send_wr* bad = nullptr;
      if (any_qp().post_send(&wr_, &bad) != 0) {
        return false;
      }
    }
    uint32_t done = 0;
    for (uint64_t polls = 0; done < at_once; ++polls) {
      sides_[0].device->poll();
      sides_[1].device->poll();
      const int n = sides_[0].cq->poll(completions_);
      for (int i = 0; i < n; ++i) {
        if (completions_[static_cast<size_t>(i)].status != IBV_WC_SUCCESS) {
          return false;
        }
      }
      if (n < 0 || polls > kMostPolls) {
        return false;
      }
      done += static_cast<uint32_t>(n);
    }
    return true;
  }

  Side& side(size_t i) { return sides_[i]; }
  uint32_t first_peer() const { return qps_[1][0].qpn(); }

 private:
  static roce::bench::Extent extent(uint32_t count) {
    return {.queue_pairs = count, .depth = 2 * kUnderWay, .memory = 4096};
  }
  verbs::Qp& any_qp() {
    // A multiplication instead of a division: the draw is no part of what is measured.
    return qps_[0][static_cast<uint32_t>((uint64_t{random_()} * qps_[0].size()) >> 32)];
  }

  CountingClock clock_;
  roce::LoopbackLink link_;
  std::array<Side, 2> sides_;
  std::array<std::vector<verbs::Qp>, 2> qps_;
  ibv_sge sge_{};
  ibv_send_wr wr_{};
  std::mt19937 random_{1};
  std::array<ibv_wc, kUnderWay> completions_{};
};

/// Google Benchmark runs this in each thread at once: each has two endpoints of its own.
void random_qp(benchmark::State& state) {
  ManyPairs pairs(static_cast<uint32_t>(state.range(0)));
  const auto at_once = static_cast<uint32_t>(state.range(1));
  for ([[maybe_unused]] auto _ : state) {
    if (!pairs.run(at_once)) {
      state.SkipWithError("a message failed");
      break;
    }
  }
  const auto messages = state.iterations() * int64_t{at_once};
  state.SetItemsProcessed(messages);
}

double us_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

/// An item is a queue pair created, brought to RTS, and destroyed, beside range(0) others. What the
/// destruction takes is what other queue pairs wait for: its median and the longest 0.1 % are
/// shown.
void life_of_a_qp(benchmark::State& state) {
  ManyPairs pairs(static_cast<uint32_t>(state.range(0)));
  std::vector<double> waits;
  for ([[maybe_unused]] auto _ : state) {
    std::chrono::steady_clock::time_point start;
    {
      verbs::Qp qp = pairs.side(0).create_qp();
      pairs.side(0).connect(qp, pairs.first_peer());
      start = std::chrono::steady_clock::now();
    }
    waits.push_back(us_since(start));
    pairs.side(0).device->poll();
  }
  std::sort(waits.begin(), waits.end());
  state.SetItemsProcessed(state.iterations());
  state.counters["destroy_p50_us"] = waits[waits.size() / 2];
  state.counters["destroy_p999_us"] = waits[waits.size() * 999 / 1000];
}

}  // namespace

BENCHMARK(random_qp)
    ->Name("scale/write_64B")
    ->ArgNames({"qps", "at_once"})
    ->ArgsProduct({{1, 32, 1000, 10'000}, {1, kUnderWay}});
BENCHMARK(random_qp)
    ->Name("scale/write_64B")
    ->ArgNames({"qps", "at_once"})
    ->Args({1, kUnderWay})
    ->Threads(1)
    ->Threads(2)
    ->UseRealTime();
BENCHMARK(life_of_a_qp)->Name("scale/qp_life")->ArgName("others")->Arg(1)->Arg(10'000);
BENCHMARK_MAIN();
