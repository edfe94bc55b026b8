// The other process of the two-process tests: starts DPDK with one device, sends every frame back,
// until its standard input closes.
//   port_peer DEVICE_ARGUMENTS [MTU] | port_peer cpu=N,...
// Prints "ready" once the port is open; or one line with the reason, and exits with 1.
// SPDX-License-Identifier: BSD-3-Clause
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <thread>

#include "port/dpdk/dpdk_port.h"
#include "port/dpdk/eal.h"

/// What DPDK forgets when a virtio-user device cannot be made. LeakSanitizer asks, where it runs.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming): given
extern "C" const char* __lsan_default_suppressions() {
  return "leak:vhost_user_setup\nleak:rte_intr_instance_alloc\n";
}

namespace {

bool input_closed() {
  pollfd fd{STDIN_FILENO, POLLIN, 0};
  return ::poll(&fd, 1, 0) > 0;
}

void echo_until_closed(roce::Port& port) {
  std::array<roce::Frame, 32> frames;
  for (unsigned poll = 0; poll % 4096 != 4095 || !input_closed(); ++poll) {
    const size_t got = port.rx_burst({}, frames);
    std::span<roce::Frame> rest(frames.data(), got);
    for (int i = 0; i < 1000 && !rest.empty(); ++i) {
      rest = rest.subspan(port.tx_burst({}, rest));
    }
    port.release(rest);
    if (got == 0) {
      std::this_thread::yield();
    }
  }
}

int fail(const std::string& reason) {
  std::printf("%s\n", reason.c_str());
  return 1;
}

int run(const std::string& what, const char* mtu) {
  roce::EalConfig eal;
  if (what.starts_with("cpu=")) {
    for (const char* at = what.c_str() + std::strlen("cpu"); *at == '=' || *at == ',';) {
      char* end = nullptr;
      eal.cpus.push_back(static_cast<unsigned>(std::strtoul(at + 1, &end, 10)));
      at = end;
    }
  } else if (what.starts_with("-")) {
    eal.extra_args = {what};
  } else {
    eal.vdevs = {what};
  }
  if (const roce::Status status = roce::start_eal(eal); !status) {
    return fail(status.error().reason);
  }
  roce::DpdkPortConfig config;
  config.device = what.substr(0, what.find(','));
  config.mtu = static_cast<uint32_t>(std::strtoul(mtu, nullptr, 10));
  {
    const auto port = roce::open_dpdk_port(config);
    if (!port) {
      return fail(port.error().reason);
    }
    std::puts("ready");
    std::fflush(stdout);
    echo_until_closed(**port);
  }
  roce::stop_eal();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    return fail("port_peer needs a device; see the head of its source");
  }
  return run(argv[1], argc > 2 ? argv[2] : "9000");
}
