// What a second lcore brings: the endpoint of a program, with two engines, on DPDK's ring device,
// each of whose queues hands back what is sent on it. In turns: one thread drives its engine, on
// one CPU and on the other, since they need not be equally fast; two drive one each; two do, and
// each sends to the other's queue pair, so that every packet arrives at the wrong engine and is
// handed over. 64 byte WRITEs, 128 at once. The endpoint has five engines, of which the first and
// the last are used: net_ring counts the frames of neighbouring queues in one cache line, which
// costs a tenth.
//
//   lcores_bench [ROUNDS]
// SPDX-License-Identifier: BSD-3-Clause
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <roce/endpoint.h>
#include <roce/verbs.h>

#include "loopback_side.h"

namespace {

namespace verbs = roce::verbs;

constexpr uint32_t kAtOnce = 128;
constexpr uint32_t kSize = 64;  // bytes
constexpr auto kSlice = std::chrono::milliseconds(200);
constexpr size_t kThreads = 2;
constexpr const char* kEngines = "5";
constexpr size_t kApart = 4;  // the engines that are used
enum Load : size_t { kFirst, kSecond, kTwo, kCrossed, kLoads };

/// A device with a queue pair for its own peer and one for the other device's.
struct Lcore {
  explicit Lcore(verbs::Device& d)
      : device(d),
        pd(*d.alloc_pd()),
        cq(*d.create_cq(4 * kAtOnce)),
        mr(*d.reg_mr(pd, memory.data(), memory.size(),
                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)) {
    for (auto& qp : qps) {
      ibv_qp_init_attr init{};
      init.qp_type = IBV_QPT_RC;
      init.cap = {2 * kAtOnce, 1, 1, 1, 0};
      qp.emplace(*d.create_qp(pd, cq, cq, init));
    }
  }

  verbs::Device& device;
  verbs::Pd pd;
  verbs::Cq cq;
  std::vector<uint8_t> memory = std::vector<uint8_t>(4096);
  verbs::Mr mr;
  std::array<std::optional<verbs::Qp>, 3> qps;  // 0 sends to 1; 2 to the other lcore's 2
};

class Bench {
 public:
  explicit Bench(roce::Endpoint& endpoint) : endpoint_(endpoint) {
    const int index = endpoint.device().default_gid_index();
    std::copy_n(endpoint.device().query_gid(1, index)->raw, gid_.bytes.size(), gid_.bytes.begin());
    for (size_t i = 0; i < kThreads; ++i) {
      lcores_.push_back(std::make_unique<Lcore>(endpoint.device(i * kApart)));
    }
    for (size_t i = 0; i < kThreads; ++i) {
      auto& qps = lcores_[i]->qps;
      connect(i, *qps[0], *qps[1]);
      connect(i, *qps[1], *qps[0]);
      connect(i, *qps[2], *lcores_[1 - i]->qps[2]);
    }
  }

  /// Messages a second, of all threads together.
  double run(Load load) {
    const size_t threads = load == kFirst || load == kSecond ? 1 : kThreads;
    std::atomic<size_t> ready{0};
    std::atomic<bool> stop{false};
    std::array<double, kThreads> rates{};
    const auto work = [&](size_t i) {
      pin(i);
      if (i > 0 && !roce::Endpoint::register_thread()) {
        std::fprintf(stderr, "lcores_bench: no place for a thread; the figures are too low\n");
      }
      ++ready;
      while (ready < threads) {
      }
      rates[i] = measure(*lcores_[i], peer(i, load), load == kCrossed ? 2 : 0, stop);
    };
    std::thread other;
    if (load != kFirst) {
      endpoint_.lend(kApart);
      other = std::thread(work, 1);
    }
    std::thread clock([&] {
      while (ready < threads) {
        std::this_thread::yield();
      }
      std::this_thread::sleep_for(kSlice);
      stop = true;
    });
    if (load != kSecond) {
      work(0);
    }
    clock.join();
    if (other.joinable()) {
      other.join();
      endpoint_.give_back(kApart);
    }
    // What is still under way, with nobody else polling.
    for (int quiet = 0; quiet < 10'000; ++quiet) {
      for (auto& lcore : lcores_) {
        lcore->device.poll();
        std::array<ibv_wc, kAtOnce> done;
        quiet = lcore->cq.poll(done) > 0 ? 0 : quiet;
      }
    }
    return rates[0] + rates[1];
  }

  uint64_t handed_over() {
    return endpoint_.device(0).port_stats().rx_handed_over +
           endpoint_.device(kApart).port_stats().rx_handed_over;
  }

 private:
  void connect(size_t lcore, verbs::Qp& qp, const verbs::Qp& to) {
    roce::bench::connect(endpoint_.device(lcore * kApart), qp, gid_, to.qpn());
  }
  Lcore& peer(size_t i, Load load) { return *lcores_[load == kCrossed ? 1 - i : i]; }

  static void pin(size_t cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  }

  static double measure(Lcore& from, Lcore& to, size_t qp, const std::atomic<bool>& stop) {
    ibv_sge sge{reinterpret_cast<uint64_t>(from.memory.data()), kSize, from.mr.lkey()};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {reinterpret_cast<uint64_t>(to.memory.data()), to.mr.rkey()};
    uint64_t done = 0;
    uint32_t under_way = 0;
    std::array<ibv_wc, kAtOnce> completions;
    const auto start = std::chrono::steady_clock::now();
    while (!stop.load(std::memory_order_relaxed)) {
      for (; under_way < kAtOnce; ++under_way) {
        ibv_send_wr* bad = nullptr;
        ROCE_CHECK(from.qps[qp]->post_send(&wr, &bad) == 0);
      }
      from.device.poll();
      const int n = from.cq.poll(completions);
      for (int i = 0; i < n; ++i) {
        ROCE_CHECK(completions[static_cast<size_t>(i)].status == IBV_WC_SUCCESS);
      }
      under_way -= static_cast<uint32_t>(n);
      done += static_cast<uint64_t>(n);
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return static_cast<double>(done) / seconds.count();
  }

  roce::Endpoint& endpoint_;
  roce::Gid gid_;
  std::vector<std::unique_ptr<Lcore>> lcores_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print(const char* what, const std::vector<double>& rates, const std::vector<double>& ratios) {
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf("%-28s %6.2f M/s  %5.2f of one (%.2f..%.2f)\n", what, median(rates) / 1e6,
              median(ratios), *low, *high);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(std::atoi(argv[1]), 1) : 7;
  roce::ConfigSources sources;
  sources.environment = roce::process_environment();
  for (const auto& [key, value] :
       {std::pair{"port.kind", "ring"}, std::pair{"eal.memory_mb", "2048"},
        std::pair{"engine.lcores", kEngines}}) {
    sources.flags.push_back({key, value, key});
  }
  const auto config = roce::load_config(sources);
  auto endpoint = config ? roce::Endpoint::open(*config) : tl::make_unexpected(config.error());
  if (!endpoint) {
    std::fprintf(stderr, "lcores_bench: %s\n", endpoint.error().reason.c_str());
    return 1;
  }
  {
    Bench bench(**endpoint);
    bench.run(kCrossed);  // warms up
    std::array<std::vector<double>, kLoads> rates;
    std::array<std::vector<double>, kLoads> ratios;
    const uint64_t before = bench.handed_over();
    uint64_t unwanted = 0;
    for (int round = 0; round < rounds; ++round) {
      double one = 0;  // the mean of the two CPUs
      for (size_t load = 0; load < kLoads; ++load) {
        const uint64_t then = bench.handed_over();
        rates[load].push_back(bench.run(static_cast<Load>(load)));
        one += load <= kSecond ? rates[load].back() / 2 : 0;
        ratios[load].push_back(rates[load].back() / one);
        unwanted += load == kCrossed ? 0 : bench.handed_over() - then;
      }
    }
    std::printf("one lcore: %.2f M/s on the first CPU, %.2f on the second\n",
                median(rates[kFirst]) / 1e6, median(rates[kSecond]) / 1e6);
    print("two lcores", rates[kTwo], ratios[kTwo]);
    print("two lcores, all handed over", rates[kCrossed], ratios[kCrossed]);
    std::printf("%lu frames were handed over, %lu of them in the others\n",
                static_cast<unsigned long>(bench.handed_over() - before),
                static_cast<unsigned long>(unwanted));
  }
  return 0;
}
