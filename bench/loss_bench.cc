// What lost packets cost: two endpoints over a loopback link, both of which lose a share of what
// they receive, in one thread and real time. An item is a WRITE of 1 MiB; 16 are under way. `held`
// is engine.held_packets: 0 is a peer that keeps nothing (go-back-N).
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>
#include <roce/verbs.h>

#include "loopback_side.h"
#include "port/faulty_port.h"
#include "port/loopback_port.h"

namespace {

namespace verbs = roce::verbs;
using roce::bench::Side;

constexpr uint32_t kSize = 1u << 20;
constexpr uint32_t kUnderWay = 16;
constexpr int64_t kHeld = 512;  // packets that an end keeps, by default

/// A WRITE stream over a link that loses frames.
class Stream {
 public:
  Stream(double loss, uint32_t held)
      : link_({.mtu = 4200, .buffers = 4096, .queue = 1024}),
        ports_{roce::FaultyPort(link_.a(), {.loss = loss, .seed = 1}),
               roce::FaultyPort(link_.b(), {.loss = loss, .seed = 2})},
        sides_{
            Side(ports_[0], ports_[1], clock_, 0, {.held_packets = static_cast<uint32_t>(kHeld)}),
            Side(ports_[1], ports_[0], clock_, 1, {.held_packets = held})},
        qps_{sides_[0].create_qp(), sides_[1].create_qp()} {
    sides_[0].connect(qps_[0], qps_[1].qpn());
    sides_[1].connect(qps_[1], qps_[0].qpn());
    sge_.length = kSize;
    wr_ = roce::bench::write_between(sides_[0], sides_[1], sge_);
    for (uint32_t i = 0; i < kUnderWay; ++i) {
      post();
    }
  }

  /// Until one more WRITE is complete, and posts another. False when one failed.
  [[gnu::noinline]] bool run() {
    for (;;) {
      sides_[0].device->poll();
      sides_[1].device->poll();
      ibv_wc wc{};
      const int n = sides_[0].cq->poll({&wc, 1});
      if (n < 0 || (n == 1 && wc.status != IBV_WC_SUCCESS)) {
        return false;
      }
      if (n == 1) {
        return post();
      }
    }
  }

  roce::QpCounters counters() { return sides_[0].device->qp_counters(); }

 private:
  bool post() {
    ibv_send_wr* bad = nullptr;
    return qps_[0].post_send(&wr_, &bad) == 0;
  }

  roce::bench::RealClock clock_;
  roce::LoopbackLink link_;
  std::array<roce::FaultyPort, 2> ports_;
  std::array<Side, 2> sides_;
  std::array<verbs::Qp, 2> qps_;
  ibv_sge sge_{};
  ibv_send_wr wr_{};
};

/// range(0): loss in 0.01 %; range(1): held packets.
void lossy_write(benchmark::State& state) {
  Stream stream(static_cast<double>(state.range(0)) / 10'000,
                static_cast<uint32_t>(state.range(1)));
  for ([[maybe_unused]] auto _ : state) {
    if (!stream.run()) {
      state.SkipWithError("a message failed");
      break;
    }
  }
  state.SetBytesProcessed(state.iterations() * int64_t{kSize});
  const roce::QpCounters c = stream.counters();
  const auto per_item = [&state](uint64_t n) {
    return static_cast<double>(n) / static_cast<double>(state.iterations());
  };
  state.counters["sent_again"] = per_item(c.retransmitted);
  state.counters["naks"] = per_item(c.sequence_naks_rcvd);
  state.counters["early"] = per_item(c.early_retransmits);
  state.counters["timeouts"] = static_cast<double>(c.timeouts);
}

}  // namespace

BENCHMARK(lossy_write)
    ->Name("loss/write_1MiB")
    ->ArgNames({"loss_per_10k", "held"})
    ->ArgsProduct({{0, 10, 100, 500}, {kHeld}})
    ->ArgsProduct({{0, 10, 100}, {0}})
    ->UseRealTime();
BENCHMARK_MAIN();
