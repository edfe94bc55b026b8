// Tests of ThreadedLoopbackLink: the contract of all ports on one thread, and traffic between two.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/threaded_loopback_port.h"

#include <array>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include "port/port_contract.h"
#include "port/test_frames.h"

namespace roce::test {
namespace {

struct ThreadedPair {
  ThreadedLoopbackLink link;

  Port& a() { return link.a(); }
  Port& b() { return link.b(); }
  Instant now() { return Instant{}; }
};

INSTANTIATE_TYPED_TEST_SUITE_P(ThreadedLoopback, PortContract, ThreadedPair);

/// Sends `count` numbered frames and takes as many from the other side; returns how many of those
/// were out of order.
uint64_t exchange(Port& port, uint64_t count) {
  uint64_t sent = 0;
  uint64_t received = 0;
  uint64_t wrong = 0;
  const auto bytes = roce_bytes(0, 100);
  std::array<Frame, 32> burst;
  while (sent < count || received < count) {
    const size_t wanted = std::min<uint64_t>(burst.size(), count - sent);
    const size_t n = port.alloc(std::span(burst).first(wanted));
    for (size_t i = 0; i < n; i++) {
      fill(burst[i], bytes);
      store_be<uint64_t>(burst[i].data + kNumberAt, sent + i);
    }
    const size_t accepted = port.tx_burst(Instant{}, std::span(burst).first(n));
    sent += accepted;
    port.release(std::span(burst).first(n).subspan(accepted));
    const size_t m = port.rx_burst(Instant{}, burst);
    for (const Frame& f : std::span(burst).first(m)) {
      wrong += number_of(f) != received++ ? 1 : 0;
    }
    port.release(std::span(burst).first(m));
    if (accepted + m == 0) {
      std::this_thread::yield();
    }
  }
  return wrong;
}

TEST(ThreadedLoopbackPort, CarriesFramesBothWaysBetweenTwoThreads) {
  LoopbackConfig config;
  config.mtu = 1500;
  config.buffers = 100;
  config.queue = 60;
  ThreadedLoopbackLink link(config);
  constexpr uint64_t kCount = 50000;
  uint64_t wrong_at_b = 0;
  std::thread other([&] { wrong_at_b = exchange(link.b(), kCount); });
  EXPECT_EQ(exchange(link.a(), kCount), 0U);
  other.join();
  EXPECT_EQ(wrong_at_b, 0U);
  for (Port* port : {&link.a(), &link.b()}) {
    std::array<Frame, 128> all;
    EXPECT_EQ(port->alloc(all), 100U) << "buffers of " << port->info().name;
    port->release(std::span(all).first(100));
  }
}

}  // namespace
}  // namespace roce::test
